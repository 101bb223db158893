"""`python -m sitemap_reader` is `sitemap-reader`."""

from .cli import main

if __name__ == "__main__":
    main()
