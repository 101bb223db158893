"""All measures, each as the method of a Snapshot that has its name; importing them imports pandas."""

from .changes import churn as churn
from .changes import growth as growth
from .changes import new as new
from .changes import survival as survival
from .changes import turnover as turnover
from .comparison import gaps as gaps
from .comparison import overlap as overlap
from .dates import cadence as cadence
from .dates import calendar as calendar
from .dates import freshness as freshness
from .dates import lastmod_trust as lastmod_trust
from .dates import weekday_hour as weekday_hour
from .languages import hreflang as hreflang
from .languages import languages as languages
from .page_types import page_types as page_types
from .sections import changefreq_priority as changefreq_priority
from .sections import media_coverage as media_coverage
from .sections import sections as sections
from .sections import tree as tree
from .topics import slug_ngrams as slug_ngrams
from .topics import topics as topics
from .topics import trends as trends
from .translations import translations as translations
from .url_patterns import patterns as patterns
from .url_patterns import slug_lengths as slug_lengths
