"""Inside other crawlers: each room is imported by its own name, and needs the extra of that name."""
