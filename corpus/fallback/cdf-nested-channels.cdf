<?xml version="1.0" encoding="UTF-8"?>
<CHANNEL HREF="https://example.com/" BASE="https://example.com/news/" LASTMOD="1998-11-05">
  <TITLE>Every item of every channel, none of the channels themselves</TITLE>
  <ITEM HREF="https://example.com/news/1.html" LASTMOD="1998-11-05T22:12">
    <ABSTRACT>One</ABSTRACT>
  </ITEM>
  <CHANNEL HREF="https://example.com/news/more/">
    <TITLE>More</TITLE>
    <ITEM HREF="more/2.html?a=1&amp;b=2"><TITLE>Two</TITLE></ITEM>
    <ITEM><A HREF="https://example.com/news/3.html">Three: only feedparser could know, and does not</A></ITEM>
  </CHANNEL>
</CHANNEL>
