"""All measures of a Snapshot, each a function of it that returns a Measure; importing them imports pandas."""

from .comparison import churn, growth, overlap
from .dates import cadence, freshness, weekday_hour
from .gaps import gaps, shared
from .languages import hreflang, languages
from .lastmod_trust import lastmod_trust
from .publication import calendar, new
from .sections import changefreq_priority, media_coverage, sections
from .sitemap_nesting import tree
from .topics import slug_ngrams, topics

__all__ = [
    "cadence",
    "calendar",
    "changefreq_priority",
    "churn",
    "freshness",
    "gaps",
    "growth",
    "hreflang",
    "languages",
    "lastmod_trust",
    "media_coverage",
    "new",
    "overlap",
    "sections",
    "shared",
    "slug_ngrams",
    "topics",
    "tree",
    "weekday_hour",
]
