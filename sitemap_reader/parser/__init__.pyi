from .dialects.feed_fallback import FeedFallback as FeedFallback
