# What may stand in an entry, and how the value of each element is read: the rules of dialects/extensions.py as arrays.

cdef enum Kind:
    UNKNOWN
    # Those of the protocol.
    LOC
    LASTMOD
    CHANGEFREQ
    PRIORITY
    # Children of an entry: with tags in them, an xhtml:link, without content.
    RECORD
    LINK
    FLAG
    # In a record: with tags in it, that are an object (tvshow), or fields of the record (publication).
    OBJECT
    PUBLICATION
    # Elements and attributes with a value.
    TEXT
    WORDS
    URL
    DATE
    WHOLE
    DECIMAL
    BOOLEAN

cdef enum:
    ENTRY_CODE = 1
    MAX_CODES = 128
    PREFIX_CODE = 127  # a prefix with its colon, in the table of names
    MAX_RULE_ATTRIBUTES = 4
    PUBLICATION_FIELD = 63  # no record has so many fields

# An element. Elements of an entry and of the news in it are numbered alike, by `field`.
cdef struct Rule:
    Kind kind
    unsigned char parent  # the code of the element that it may stand in
    unsigned char field  # its position among those of its parent; a date has the next one, too
    bint is_list
    unsigned long long required  # the fields that it cannot do without, a bit for each
    long long limit  # of a number
    int attributes
    const char* attribute_names[MAX_RULE_ATTRIBUTES]
    Py_ssize_t attribute_sizes[MAX_RULE_ATTRIBUTES]
    Kind attribute_kinds[MAX_RULE_ATTRIBUTES]
    long long attribute_limits[MAX_RULE_ATTRIBUTES]

cdef Rule RULES[MAX_CODES]

# Tag -> its code.
cdef dict CODES = {"url": ENTRY_CODE, "sitemap": ENTRY_CODE}
cdef list _NAMES_AS_BYTES = []  # to which the rules point

cdef dict _KINDS = {
    extensions.text: TEXT,
    extensions.comma_separated: WORDS,
    extensions.url: URL,
    extensions.href: URL,
    extensions.date: DATE,
    extensions.boolean: BOOLEAN,
}


def _kind(parse):
    """The kind of a value, and the limit of a number."""
    if isinstance(parse, extensions.Number):
        return (WHOLE if parse.convert is int else DECIMAL), parse.limit
    return _KINDS[parse], 0


cdef unsigned char _add_rule(str tag, Kind kind, unsigned char parent, int field, bint is_list=False) except 0:
    cdef unsigned char code = len(CODES)  # the two entries have one
    CODES[tag] = code
    RULES[code].kind = kind
    RULES[code].parent = parent
    RULES[code].field = field
    RULES[code].is_list = is_list
    return code


def _add_attributes(code, attributes):
    cdef Rule* rule = &RULES[code]
    for at, (name, parse) in enumerate(attributes.items()):
        name_bytes = name.encode()
        _NAMES_AS_BYTES.append(name_bytes)
        rule.attribute_names[at] = PyBytes_AS_STRING(name_bytes)
        rule.attribute_sizes[at] = len(name)
        rule.attribute_kinds[at], rule.attribute_limits[at] = _kind(parse)
    rule.attributes = len(attributes)


def _add_values(code, rules, names):
    """The tags with a value in an element, whose fields have these names."""
    cdef Rule* rule
    for tag, each in rules.items():
        name = extensions.FIELD_OF_TAG[tag]
        parent = CODES["news:publication"] if tag in ("news:name", "news:language") else code
        kind, limit = _kind(each.parse)
        own = _add_rule(tag, kind, parent, names.index(name), each.is_list)
        RULES[own].limit = limit
        _add_attributes(own, each.attributes)


def _fill_rules():
    for at, (tag, kind) in enumerate((("loc", LOC), ("lastmod", LASTMOD), ("changefreq", CHANGEFREQ), ("priority", PRIORITY))):
        _add_rule(tag, kind, ENTRY_CODE, at)
    for at, (tag, (_, is_list)) in enumerate(extensions.ELEMENT_FIELDS.items(), 4):
        record = extensions.RECORD_CLASSES.get(tag)
        kind = LINK if tag == "xhtml:link" else RECORD if record else FLAG
        code = _add_rule(tag, kind, ENTRY_CODE, at, is_list)
        if kind == LINK:
            _add_attributes(code, {"hreflang": extensions.text, "href": extensions.href, "media": extensions.text})
        if record is None:
            continue
        fields = attrs.fields(record)
        RULES[code].required = sum(1 << at for at, field in enumerate(fields) if field.default is attrs.NOTHING)
        if tag == "news:news":
            _add_rule("news:publication", PUBLICATION, code, PUBLICATION_FIELD)
        names = [field.name for field in fields]
        _add_values(code, extensions.TAG_RULES[tag], names)
        for (element, inner), empty in extensions.EMPTY_OBJECTS.items():
            if element == tag:
                own = _add_rule(inner, OBJECT, code, names.index(inner.partition(":")[2]))
                _add_values(own, extensions.TAG_RULES[inner], [*empty])


_fill_rules()


# --- feeds -----------------------------------------------------------------------------------------------------------

cdef enum:
    LINK_CODE = 2
    GUID_CODE
    ATOM_LINK_CODE
    DATE_CODE  # of the date that counts first; the others follow
    FEED_WORDS = 10

def codes_of(dialect):
    """The tags that the scanner reads in a dialect, with their codes."""
    if dialect == "sitemap":
        return CODES
    from .dialects import feed  # lazy: it imports ElementTree, which a run of unchanged documents does not need

    dates = feed.RSS_DATES if dialect == "rss" else feed.ATOM_DATES
    codes = {tag: DATE_CODE + at for at, tag in enumerate(dates)}
    if dialect == "rss":
        return {"item": ENTRY_CODE, "link": LINK_CODE, "guid": GUID_CODE, **codes}
    return {"entry": ENTRY_CODE, "link": ATOM_LINK_CODE, **codes}


# Local names that have a meaning, or would have one in small letters.
cdef const char* FEED_WORD[FEED_WORDS]
FEED_WORD[:] = [
    b"item", b"link", b"guid", b"pubdate", b"date", b"updated", b"entry", b"modified", b"published", b"issued"
]
cdef Py_ssize_t[FEED_WORDS] FEED_WORD_SIZES = [4, 4, 4, 7, 4, 7, 5, 8, 9, 6]


# --- names as the document writes them -------------------------------------------------------------------------------

cdef enum:
    HASH_SEED = 0x811C9DC5
    HASH_FACTOR = 0x01000193
    SLOTS = 1024  # a power of two
    MAX_NAMES = SLOTS // 2
    MAX_NAME_BYTES = 47

cdef struct Name:
    char name[MAX_NAME_BYTES]
    unsigned char size  # 0: the slot is free
    unsigned char code

# Name as written, with its prefix -> code, by open addressing.
cdef struct NameTable:
    Name slots[SLOTS]
    int count


cdef inline unsigned char find_name(NameTable* names, Bytes name, Py_ssize_t size, unsigned int hash) noexcept nogil:
    """The code of a name; 0 where it is unknown."""
    cdef Name* slot
    while True:
        slot = &names.slots[hash & (SLOTS - 1)]
        if slot.size == 0:
            return 0
        if slot.size == size and same_bytes(<Bytes> slot.name, name, size):
            return slot.code
        hash += 1


cdef void add_name(NameTable* names, bytes name, unsigned char code):
    cdef unsigned int hash = HASH_SEED
    cdef unsigned char character
    cdef Py_ssize_t size = len(name)
    for character in name:
        hash = (hash ^ character) * HASH_FACTOR
    while names.slots[hash & (SLOTS - 1)].size:
        hash += 1
    memcpy(names.slots[hash & (SLOTS - 1)].name, PyBytes_AS_STRING(name), size)
    names.slots[hash & (SLOTS - 1)].size = size
    names.slots[hash & (SLOTS - 1)].code = code
    names.count += 1
