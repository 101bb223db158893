"""Watch: revisits the sitemaps of many sites when it pays, and delivers their changes to sinks."""
