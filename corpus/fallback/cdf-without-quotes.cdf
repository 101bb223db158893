<CHANNEL HREF=https://example.com/>
  <ITEM HREF="https://example.com/cdf/a.html"><TITLE>Quoted</TITLE></ITEM>
  <ITEM HREF=https://example.com/cdf/b.html><TITLE>Who knows where that ends</TITLE></ITEM>
  <ITEM HREF='https://example.com/it's.html'><TITLE>It is</TITLE></ITEM>
</CHANNEL>
