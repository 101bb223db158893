<CHANNEL>
  <ITEM HREF="https://example.com/?a=1&amp;b=2"><TITLE>A & B</TITLE></ITEM>
  <ITEM HREF="https://example.com/?c=1&d=2"><TITLE>Unescaped</TITLE></ITEM>
  <ITEM><LINK>https://example.com/?id=3&copy=4</LINK><TITLE>feedparser makes a copyright sign of it</TITLE></ITEM>
  <ITEM><LINK><![CDATA[https://example.com/?id=5&copy=6]]></LINK><TITLE>Nothing to escape here</TITLE></ITEM>
</CHANNEL>
