# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# cython: freethreading_compatible=True
"""Scanner of plain entries: UTF-8 bytes between entries of a document in; the entries that follow, as spans, out.

It reads well-formed entries with elements that the protocol and its extensions have, in any order, with the prefixes
that the document declares, attributes, references and CDATA sections, and the values in their usual shapes
(scanner_values.pxi). At whatever else it stops, in front of that entry: expat reads it (fast_path.py), and what comes
out is always what expat and the Normaliser alone would give. It holds no lock of the interpreter, does not recurse, and
checks each read against the end of the bytes. What was scanned becomes the
columns of a UrlBatch (scanner_columns.pxi).
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.datetime cimport datetime_new, import_datetime
from libc.math cimport signbit
from libc.stdlib cimport free, qsort, realloc
from libc.string cimport memchr, memcmp, memcpy, memset, strlen

import datetime
from functools import partial

import attrs
import orjson

from ..model.columns import NESTED, URL_COLUMNS, micros
from ..model.columns import PRECISIONS as PRECISION_NAMES
from ..model.records import EXTENSIONS, EXTRAS_STATE_CODE, SitemapRef, UrlRecord
from .dialects import extensions

import_datetime()

include "scanner_values.pxi"
include "scanner_rules.pxi"

# --- what is found ---------------------------------------------------------------------------------------------------

# A text: bytes of the document, or where it holds references and the like, of the buffer of decoded text.
cdef struct Span:
    unsigned int start
    unsigned int size
    bint is_decoded

cdef enum State:
    VALID
    REPAIRED  # valid, but for `&` in its loc or end tags that are to be repaired, or records without a value
    ODD  # the Normaliser has to read its loc, lastmod, changefreq and priority

cdef struct Entry:
    Span loc  # canonical, unless it is odd
    Span written_loc  # this and the next three as written
    Span lastmod
    Span changefreq
    Span priority
    long long moment
    int line
    unsigned int first_node
    unsigned int nodes
    unsigned int repairs
    unsigned int missing_tags  # of these
    unsigned char lacking  # the code of a record that is left out, as it states nothing, and needs a value
    unsigned char lacking_count
    short priority_value
    unsigned char precision
    unsigned char changefreq_number
    bint has_empty_lastmod
    State state

# An element of an extension, or behind it an attribute that belongs to its value.
cdef struct Node:
    Span value
    long long number  # of a date its moment, of a boolean 0 or 1
    unsigned char code
    unsigned char depth  # 1 for the children of the entry
    signed char attribute  # its number in the rule; -1: the element itself
    unsigned char precision

# A place that is repaired: at the offset of a `&`, or of the tag before which the end tag of an element is missing.
cdef struct Repair:
    unsigned int offset
    int line
    unsigned char code  # of that element; 0: a reference that is none of XML's

cdef struct Entries:
    Entry* entries
    size_t count
    size_t capacity
    Node* nodes
    size_t node_count
    size_t node_capacity
    Buffer decoded
    Buffer repairs


cdef Entry* new_entry(Entries* found, int line) noexcept nogil:
    """An entry behind the last one, which counts once it is finished."""
    cdef Entry* entry
    cdef void* data
    if found.count == found.capacity:
        found.capacity = 2 * found.capacity + 64
        data = realloc(found.entries, found.capacity * sizeof(Entry))
        if data == NULL:
            return NULL
        found.entries = <Entry*> data
    entry = &found.entries[found.count]
    memset(entry, 0, sizeof(Entry))
    entry.line = line
    entry.priority_value = NO_PRIORITY
    entry.first_node = <unsigned int> found.node_count
    return entry


cdef Node* new_node(Entries* found) noexcept nogil:
    cdef void* data
    if found.node_count == found.node_capacity:
        found.node_capacity = 2 * found.node_capacity + 64
        data = realloc(found.nodes, found.node_capacity * sizeof(Node))
        if data == NULL:
            return NULL
        found.nodes = <Node*> data
    found.node_count += 1
    return &found.nodes[found.node_count - 1]


# --- the scanner -----------------------------------------------------------------------------------------------------

# What a step found.
cdef enum Result:
    READ
    OTHER  # something for expat
    SECTION_END  # `]]>`
    CUT  # the bytes end in it
    NO_MEMORY

cdef enum:
    MAX_ATTRIBUTES = 16
    MAX_OPEN = 3  # an entry, a record, and an object in that
    MAX_REFERENCE_BYTES = 12
    MAX_ENTRY_BYTES = 64 * 1024  # of a longer one the limits are checked by expat
    MAX_SCANNED_BYTES = 1 << 30
    MAX_PREFIXES = 64
    MAX_EXPECTED = 32

cdef struct Attribute:
    Bytes name
    Py_ssize_t name_size
    Bytes value
    Bytes value_end

cdef struct OpenElement:
    Bytes name
    Py_ssize_t name_size
    unsigned char code
    unsigned long long seen  # the fields that have a value, a bit for each

# The start tag of an element of the entry before, as the next entry will most likely have the same.
cdef struct StartTag:
    Bytes name
    Py_ssize_t name_size
    unsigned char code

cdef struct Scan:
    Bytes data
    Bytes p
    Bytes end
    int line
    int max_repairs  # that may be repaired from here on
    Attribute attributes[MAX_ATTRIBUTES]
    int attribute_count
    OpenElement open[MAX_OPEN]
    int depth  # how many are open
    Py_ssize_t last_tag_size  # of the end tag of the last entry
    StartTag expected[MAX_EXPECTED]

cdef struct Settings:
    NameTable names
    bint is_feed
    int max_depth  # of elements, that of an entry being 1
    int max_elements
    int max_attributes
    int max_missing_tags  # of an entry
    bint is_any_scope
    int prefix_count
    const char** prefixes
    Py_ssize_t* prefix_sizes


cdef inline Result skip_space(Scan* s) noexcept nogil:
    """Moves past white space, to a byte that is none."""
    while s.p < s.end:
        if s.p[0] == c"\n":
            s.line += 1
        elif s.p[0] == c"\r":
            # expat counts a `\r` alone as a line break.
            if s.p + 1 == s.end:
                return CUT
            if s.p[1] != c"\n":
                return OTHER
        elif s.p[0] != c" " and s.p[0] != c"\t":
            return READ
        s.p += 1
    return CUT


cdef inline Result find_tag(Scan* s) noexcept nogil:
    """Moves to the `<` of a tag, past white space; the byte behind it is there."""
    cdef Result result = skip_space(s)
    if result != READ:
        return result
    if s.p[0] != c"<":
        return OTHER
    return CUT if s.p + 1 == s.end else READ


cdef inline Result scan_name(Scan* s, Bytes* name, Py_ssize_t* size, unsigned int* hash) noexcept nogil:
    """A name with or without prefix, as written. Whether it is a name at all shows in a table of names."""
    cdef Bytes p = s.p
    cdef unsigned int code = HASH_SEED
    while p < s.end and (CLASSES[p[0]] & IS_NAME or p[0] == c":"):
        code = (code ^ p[0]) * HASH_FACTOR
        p += 1
    if p == s.end:
        return CUT
    name[0] = s.p
    size[0] = p - s.p
    hash[0] = code
    s.p = p
    return READ


cdef Result scan_reference(Scan* s, bint may_repair, bint* is_repaired) noexcept nogil:
    """Moves past a reference, or if it `may_repair` past one of HTML's or a bare `&`."""
    cdef Bytes p = s.p + 1
    cdef Bytes start = p
    cdef unsigned int character
    while p < s.end and p - start < MAX_REFERENCE_BYTES and (CLASSES[p[0]] & IS_NAME or p[0] == c"#"):
        p += 1
    if p == s.end:
        return CUT
    is_repaired[0] = False
    if p[0] == c";" and read_reference(start, p, &character):
        s.p = p + 1
        return READ
    if not may_repair or start[0] == c"#":
        return OTHER
    is_repaired[0] = True
    if p[0] == c";" and read_html_entity(start, p, &character):
        s.p = p + 1
        return READ
    # `&` is bare where no name and `;` follow.
    p = start
    while p < s.end and CLASSES[p[0]] & IS_NAME and p[0] != c"_" and p[0] != c"-" and p[0] != c".":
        p += 1
    if p == s.end:
        return CUT
    if p[0] == c";" and p > start and not is_digit(start[0]):
        return OTHER
    s.p = start
    return READ


cdef bint read_reference(Bytes p, Bytes end, unsigned int* character) noexcept nogil:
    """The character of the reference between `&` and `;`; False unless expat gives it, and the repair leaves it."""
    cdef unsigned int number = 0
    cdef bint is_hex
    if p == end:
        return False
    if p[0] != c"#":
        if end - p == 3 and memcmp(p, b"amp", 3) == 0:
            character[0] = c"&"
        elif end - p == 2 and memcmp(p, b"lt", 2) == 0:
            character[0] = c"<"
        elif end - p == 2 and memcmp(p, b"gt", 2) == 0:
            character[0] = c">"
        elif end - p == 4 and memcmp(p, b"quot", 4) == 0:
            character[0] = c'"'
        elif end - p == 4 and memcmp(p, b"apos", 4) == 0:
            character[0] = c"'"
        else:
            return False
        return True
    p += 1
    is_hex = p < end and p[0] == c"x"
    p += is_hex
    if p == end or end - p > 7:
        return False
    while p < end:
        if is_hex:
            if not CLASSES[p[0]] & IS_HEX:
                return False
            number = 16 * number + (p[0] - c"0" if is_digit(p[0]) else lower(p[0]) - c"a" + 10)
        else:
            if not is_digit(p[0]):
                return False
            number = 10 * number + p[0] - c"0"
        p += 1
    character[0] = number
    if number < 0x20:
        return number == 9 or number == 10 or number == 13
    return number <= 0x10FFFF and not (0xD800 <= number <= 0xDFFF or number == 0xFFFE or number == 0xFFFF)


cdef Result skip_character(Scan* s, Bytes* position) noexcept nogil:
    """Moves past a line break, a `]` or a character beyond ASCII; what else is not plain text is for expat."""
    cdef Bytes p = position[0]
    cdef int size = 1
    if p[0] == c"\n":
        s.line += 1
    elif p[0] == c"\r":
        if p + 1 == s.end:
            return CUT
        if p[1] != c"\n":
            return OTHER
    elif p[0] == c"]":
        if s.end - p < 3:
            return CUT
        if p[1] == c"]" and p[2] == c">":
            return SECTION_END
    elif p[0] >= 0x80:
        size = character_size(p, s.end)
        if size <= 0:
            return CUT if size == 0 else OTHER
    else:
        return OTHER
    position[0] = p + size
    return READ


cdef inline bint add_repair(Scan* s, Entries* found, Bytes place, unsigned char code) noexcept nogil:
    cdef Repair* repair
    if not reserve(&found.repairs, sizeof(Repair)):
        return False
    repair = <Repair*> (found.repairs.data + found.repairs.size)
    repair.offset, repair.line, repair.code = <unsigned int> (place - s.data), s.line, code
    found.repairs.size += sizeof(Repair)
    return True


cdef Result skip_text(Scan* s, Entries* found, Kind kind, unsigned int* repairs, bint* is_decoded) noexcept nogil:
    """Moves past a text, up to the next tag; `is_decoded`: it is not the bytes as they are.

    `repairs` counts the references that are none of XML's; NULL: there may be none.
    """
    cdef Bytes p = s.p
    cdef bint is_repaired
    cdef Result result
    is_decoded[0] = False
    while True:
        while p < s.end and CLASSES[p[0]] & IS_TEXT:
            p += 1
        if p == s.end:
            return CUT
        if p[0] == c"<":
            if p + 1 == s.end:
                return CUT
            if p[1] != c"!":
                s.p = p
                return READ
            s.p = p
            result = scan_section(s, kind)
            if result != READ:
                return result
            p = s.p
            is_decoded[0] = True
        elif p[0] == c"&":
            s.p = p
            result = scan_reference(s, repairs != NULL and s.max_repairs > <int> repairs[0], &is_repaired)
            if result != READ:
                return result
            if is_repaired:
                if not add_repair(s, found, p, 0):
                    return NO_MEMORY
                repairs[0] += 1
            p = s.p
            is_decoded[0] = True
        else:
            is_decoded[0] = is_decoded[0] or p[0] == c"\r"
            result = skip_character(s, &p)
            if result != READ:  # `]]>` is an error in a text
                return OTHER if result == SECTION_END else result


cdef Result scan_text(Scan* s, Entries* found, Kind kind, unsigned int* repairs, Span* text) noexcept nogil:
    """The text of an element up to its next tag, without white space around it; `repairs` as in skip_text()."""
    cdef Bytes start = s.p
    cdef Bytes base = s.data
    cdef Bytes begin
    cdef Bytes end
    cdef bint is_decoded
    cdef Result result = skip_text(s, found, kind, repairs, &is_decoded)
    if result != READ:
        return result
    begin, end = start, s.p
    if is_decoded:
        if not decode_text(start, s.p, &found.decoded, &text.start, &text.size):
            return NO_MEMORY
        base = found.decoded.data
        begin = base + text.start
        end = begin + text.size
    text.is_decoded = is_decoded
    strip(&begin, &end)
    text.start = <unsigned int> (begin - base)
    text.size = <unsigned int> (end - begin)
    return READ


cdef inline bint may_hold_markup(Kind kind) noexcept nogil:
    """Whether a CDATA section of the element may hold markup: not that of a URL, a date or a protocol field."""
    return not (UNKNOWN < kind <= PRIORITY or kind == URL or kind == DATE)


cdef bint names_part(Bytes p, Bytes end) noexcept nogil:
    """Whether a `<` before `p` begins a tag of an entry or of its location (scan.holds_part)."""
    cdef Bytes name
    cdef bint is_end = p < end and p[0] == c"/"
    p += is_end
    name = p
    while p < end and (CLASSES[p[0]] & IS_NAME or p[0] == c":"):
        p += 1
        if (p - 1)[0] == c":":
            name = p
    return (
        is_word(name, p, b"url", 3) or is_word(name, p, b"sitemap", 7)
        or is_word(name, p, b"item", 4) or is_word(name, p, b"entry", 5)
        or is_word(name, p, b"loc", 3) or (is_end and is_word(name, p, b"link", 4))
    )


cdef Result scan_section(Scan* s, Kind kind) noexcept nogil:
    """Moves past a CDATA section. Where markup in it may show that its end is missing, expat decides."""
    cdef Bytes p = s.p
    cdef Result result
    if s.end - p < 9:
        return CUT if memcmp(p, b"<![CDATA[", s.end - p) == 0 else OTHER
    if memcmp(p, b"<![CDATA[", 9) != 0:
        return OTHER
    p += 9
    while True:
        while p < s.end and CLASSES[p[0]] & IS_CDATA:
            p += 1
        if p == s.end:
            return CUT
        if p[0] == c"<":
            p += 1
            if not may_hold_markup(kind) or (p < s.end and p[0] == c"!") or names_part(p, s.end):
                return OTHER
            continue
        result = skip_character(s, &p)
        if result == SECTION_END:
            s.p = p + 3
            return READ
        if result != READ:
            return result


cdef bint decode_text(Bytes p, Bytes end, Buffer* out, unsigned int* start, unsigned int* size) noexcept nogil:
    """Appends a text that scan_text() has checked: references replaced, sections unwrapped, `\r\n` as `\n`."""
    cdef Bytes stop
    cdef unsigned char* to
    cdef unsigned int character
    if not reserve(out, end - p + 4):
        return False
    to = out.data + out.size
    start[0] = <unsigned int> out.size
    while p < end:
        if p[0] == c"<":
            p += 9
            while p[0] != c"]" or p[1] != c"]" or p[2] != c">":
                if p[0] != c"\r":
                    to[0] = p[0]
                    to += 1
                p += 1
            p += 3
        elif p[0] == c"&":
            stop = p + 1
            while stop < end and stop - p <= MAX_REFERENCE_BYTES and stop[0] != c";":
                stop += 1
            if stop < end and stop[0] == c";" and (
                read_reference(p + 1, stop, &character) or read_html_entity(p + 1, stop, &character)
            ):
                to = write_character(character, to)
                p = stop + 1
            else:  # a bare one
                to[0] = c"&"
                to += 1
                p += 1
        else:
            if p[0] != c"\r":
                to[0] = p[0]
                to += 1
            p += 1
    size[0] = <unsigned int> (to - out.data) - start[0]
    out.size = to - out.data
    return True


cdef inline unsigned char* write_character(unsigned int character, unsigned char* to) noexcept nogil:
    """Writes UTF-8, which is shorter than any reference; the end of what was written."""
    if character < 0x80:
        to[0] = character
        return to + 1
    if character < 0x800:
        to[0] = 0xC0 | (character >> 6)
        to[1] = 0x80 | (character & 63)
        return to + 2
    if character < 0x10000:
        to[0] = 0xE0 | (character >> 12)
        to[1] = 0x80 | (character >> 6 & 63)
        to[2] = 0x80 | (character & 63)
        return to + 3
    to[0] = 0xF0 | (character >> 18)
    to[1] = 0x80 | (character >> 12 & 63)
    to[2] = 0x80 | (character >> 6 & 63)
    to[3] = 0x80 | (character & 63)
    return to + 4


# --- tags ------------------------------------------------------------------------------------------------------------

cdef Result scan_attributes(Scan* s, Settings* settings, bint* is_empty) noexcept nogil:
    """The attributes of a start tag, and its end; `is_empty`: it ends with `/>`."""
    cdef Attribute* attribute
    cdef unsigned char quote
    cdef Result result
    cdef unsigned int hash
    cdef bint is_apart
    s.attribute_count = 0
    if s.p < s.end and s.p[0] == c">":
        is_empty[0] = False
        s.p += 1
        return READ
    while True:
        is_apart = s.p < s.end and CLASSES[s.p[0]] & IS_SPACE
        result = skip_space(s)
        if result != READ:
            return result
        if s.p[0] == c">":
            is_empty[0] = False
            s.p += 1
            return READ
        if s.p[0] == c"/":
            if s.p + 1 == s.end:
                return CUT
            if s.p[1] != c">":
                return OTHER
            is_empty[0] = True
            s.p += 2
            return READ
        if not is_apart or s.attribute_count == min(MAX_ATTRIBUTES, settings.max_attributes):
            return OTHER
        attribute = &s.attributes[s.attribute_count]
        result = scan_name(s, &attribute.name, &attribute.name_size, &hash)
        if result != READ:
            return result
        if not is_attribute_name(s, settings, attribute):
            return OTHER
        s.attribute_count += 1
        result = skip_space(s)
        if result != READ:
            return result
        if s.p[0] != c"=":
            return OTHER
        s.p += 1
        result = skip_space(s)
        if result != READ:
            return result
        # The value.
        quote = s.p[0]
        if quote != c'"' and quote != c"'":
            return OTHER
        s.p += 1
        attribute.value = s.p
        result = scan_attribute_value(s, quote)
        if result != READ:
            return result
        attribute.value_end = s.p
        s.p += 1


cdef bint is_attribute_name(Scan* s, Settings* settings, Attribute* attribute) noexcept nogil:
    """Whether an attribute may have this name, and expat need not know of it, as it does of namespaces and xml:base."""
    cdef Bytes name = attribute.name
    cdef Bytes local = local_name(settings, name, attribute.name_size)
    cdef Py_ssize_t size = name + attribute.name_size - local
    cdef int at
    if local == NULL or (attribute.name_size == 5 and memcmp(name, b"xmlns", 5) == 0):
        return False
    if local - name == 4 and size == 4 and memcmp(name, b"xml:base", 8) == 0:
        return False
    # Two names may be one if only their prefixes differ.
    for at in range(s.attribute_count):
        name = s.attributes[at].name + s.attributes[at].name_size - size
        if name >= s.attributes[at].name and memcmp(name, local, size) == 0:
            if name == s.attributes[at].name or (name - 1)[0] == c":":
                return False
    return True


cdef Bytes local_name(Settings* settings, Bytes name, Py_ssize_t size) noexcept nogil:
    """The name behind its prefix; NULL where that is unknown, or one of both is no name."""
    cdef Bytes end = name + size
    cdef Bytes p = name
    cdef unsigned int hash = HASH_SEED
    if size == 0 or not is_name_start(name[0]):
        return NULL
    while p < end:
        hash = (hash ^ p[0]) * HASH_FACTOR
        p += 1
        if (p - 1)[0] == c":":
            if find_name(&settings.names, name, p - name, hash) != PREFIX_CODE:
                return NULL
            if p == end or not is_name_start(p[0]) or memchr(p, c":", end - p) != NULL:
                return NULL
            return p
    return name


cdef inline bint is_name_start(unsigned char c) noexcept nogil:
    return CLASSES[c] & IS_NAME and not is_digit(c) and c != c"-" and c != c"."


cdef Result scan_attribute_value(Scan* s, unsigned char quote) noexcept nogil:
    """Moves to the quote that ends a value."""
    cdef Result result
    cdef bint is_repaired
    cdef int size
    while True:
        while s.p < s.end and CLASSES[s.p[0]] & IS_ATTRIBUTE:
            s.p += 1
        if s.p == s.end:
            return CUT
        if s.p[0] == quote:
            return READ
        if s.p[0] == c"&":
            result = scan_reference(s, False, &is_repaired)
            if result != READ:
                return result
        elif s.p[0] >= 0x80:
            size = character_size(s.p, s.end)
            if size <= 0:
                return CUT if size == 0 else OTHER
            s.p += size
        elif s.p[0] == c'"' or s.p[0] == c"'":
            s.p += 1
        else:  # line breaks and tabs, which XML replaces with blanks, too
            return OTHER


cdef bint decode_attribute(Scan* s, Attribute* attribute, Entries* found, bint is_stripped, Span* text) noexcept nogil:
    """The value of an attribute; False where there is no memory."""
    cdef Bytes begin = attribute.value
    cdef Bytes end = attribute.value_end
    cdef Bytes base = s.data
    cdef Bytes p = begin
    text.is_decoded = False
    while p < end and p[0] != c"&":
        p += 1
    if p < end:
        if not decode_text(begin, end, &found.decoded, &text.start, &text.size):
            return False
        text.is_decoded = True
        base = found.decoded.data
        begin = base + text.start
        end = begin + text.size
    if is_stripped:
        strip(&begin, &end)
    text.start = <unsigned int> (begin - base)
    text.size = <unsigned int> (end - begin)
    return True


cdef Result scan_end_tag(Scan* s, Bytes name, Py_ssize_t size) noexcept nogil:
    """Moves past the end tag of this name, at whose `<` it stands."""
    cdef Result result
    if s.end - s.p < size + 3:
        return CUT
    if s.p[0] != c"<" or s.p[1] != c"/" or not same_bytes(s.p + 2, name, size):
        return OTHER
    s.p += size + 2
    if s.p[0] != c">":
        if not CLASSES[s.p[0]] & IS_SPACE:
            return OTHER
        result = skip_space(s)
        if result != READ or s.p[0] != c">":
            return OTHER if result == READ else result
    s.p += 1
    return READ


# --- entries ---------------------------------------------------------------------------------------------------------

cdef Result begin_entry(Scan* s, Settings* settings, Entries* found) noexcept nogil:
    """The start tag of an entry, at whose `<` it stands: a new entry in `found`, and its element in `open`."""
    cdef Entry* entry = new_entry(found, s.line)
    cdef Bytes name
    cdef Py_ssize_t name_size
    cdef unsigned int hash
    cdef bint is_empty
    cdef Result result
    if entry == NULL:
        return NO_MEMORY
    s.p += 1
    result = scan_name(s, &name, &name_size, &hash)
    if result != READ:
        return result
    if find_name(&settings.names, name, name_size, hash) != ENTRY_CODE:
        return OTHER
    result = scan_attributes(s, settings, &is_empty)
    if result != READ:
        return result
    open_element(s, 0, name, name_size, ENTRY_CODE)
    return OTHER if is_empty else READ


cdef Result scan_entry(Scan* s, Settings* settings, Entries* found) noexcept nogil:
    """The entry of a sitemap or index that begins at a `<`."""
    cdef Entry* entry
    cdef OpenElement* top
    cdef StartTag tag
    cdef int elements = 0
    cdef bint is_empty
    cdef Bytes start = s.p
    cdef Bytes end_tag
    cdef Result result = begin_entry(s, settings, found)
    if result != READ:
        return result
    entry = &found.entries[found.count]
    while True:
        result = find_tag(s)
        if result != READ:
            return result
        top = &s.open[s.depth - 1]
        if s.p[1] == c"/":
            end_tag = s.p
            result = scan_end_tag(s, top.name, top.name_size)
            if result != READ:
                return result
            if s.p - start > MAX_ENTRY_BYTES:
                return OTHER
            if top.seen & RULES[top.code].required != RULES[top.code].required and not leave_out(s, found, entry, top):
                return OTHER
            s.depth -= 1
            if s.depth == 0:
                s.last_tag_size = s.p - end_tag
                return finish_entry(s, found, entry)
            continue
        s.p += 1
        result = scan_start_tag_name(s, settings, elements, &tag)
        if result != READ:
            return result
        elements += 1
        if tag.code == 0 or RULES[tag.code].parent != top.code or elements > settings.max_elements:
            return OTHER
        if s.depth >= settings.max_depth:
            return OTHER
        result = scan_attributes(s, settings, &is_empty)
        if result == READ:
            result = scan_element(s, settings, found, entry, top, &tag, is_empty)
        if result != READ:
            return result


cdef inline Result scan_start_tag_name(Scan* s, Settings* settings, int number, StartTag* tag) noexcept nogil:
    """The name of the element of this number in its entry, and its code."""
    cdef unsigned int hash
    cdef Result result
    if number < MAX_EXPECTED:
        tag[0] = s.expected[number]
        if tag.name_size and s.end - s.p > tag.name_size and same_bytes(s.p, tag.name, tag.name_size) and (
            s.p[tag.name_size] == c">" or s.p[tag.name_size] == c" "
        ):
            tag.name = s.p
            s.p += tag.name_size
            return READ
    result = scan_name(s, &tag.name, &tag.name_size, &hash)
    if result != READ:
        return result
    tag.code = find_name(&settings.names, tag.name, tag.name_size, hash)
    if number < MAX_EXPECTED:
        s.expected[number] = tag[0]
    return READ


cdef inline bint leave_out(Scan* s, Entries* found, Entry* entry, OpenElement* record) noexcept nogil:
    """Leaves out a record in an entry that states nothing; False if it is not such a one."""
    cdef Rule* rule = &RULES[record.code]
    if record.seen or rule.kind != RECORD or not rule.is_list or (entry.lacking and entry.lacking != record.code):
        return False
    if entry.lacking_count == 255:
        return False
    found.node_count -= 1
    entry.lacking = record.code
    entry.lacking_count += 1
    return True


cdef inline void open_element(Scan* s, int depth, Bytes name, Py_ssize_t size, unsigned char code) noexcept nogil:
    s.open[depth].name = name
    s.open[depth].name_size = size
    s.open[depth].code = code
    s.open[depth].seen = 0
    s.depth = depth + 1


cdef Result scan_element(
    Scan* s, Settings* settings, Entries* found, Entry* entry, OpenElement* parent, StartTag* tag, bint is_empty
) noexcept nogil:
    """The element whose start tag was read: a value with its end tag, or the beginning of one that holds tags."""
    cdef Rule* rule = &RULES[tag.code]
    cdef bint is_repeated = parent.seen & (1ULL << rule.field) and not rule.is_list
    cdef Span text
    cdef Node* node
    cdef Result result
    if rule.kind == RECORD or rule.kind == OBJECT or rule.kind == PUBLICATION:
        # A publication counts as a field of its own: the name and language in it may not be repeated outside.
        if is_repeated:
            return OTHER
        parent.seen |= 1ULL << rule.field
        if rule.kind != PUBLICATION:
            node = new_node(found)
            if node == NULL:
                return NO_MEMORY
            node.code, node.depth, node.attribute = tag.code, s.depth, -1
        open_element(s, s.depth, tag.name, tag.name_size, tag.code)
        if is_empty:
            s.depth -= 1
            return READ if rule.required == 0 or leave_out(s, found, entry, &s.open[s.depth]) else OTHER
        return READ
    memset(&text, 0, sizeof(Span))
    if not is_empty:
        if rule.kind <= PRIORITY and not is_repeated and find_text(s, tag, &text):
            # A value that is read from the bytes as they stand holds nothing that XML forbids or replaces.
            result = read_field(s, settings, found, entry, rule.kind, &text)
            if result == READ:
                parent.seen |= 1ULL << rule.field
                move_behind(s, tag, &text)
                return READ
            if result == NO_MEMORY:
                return result
        result = scan_text(s, found, rule.kind, &entry.repairs, &text)
        if result == READ and rule.kind <= PRIORITY and not is_repeated:
            result = lacks_end_tag(s, tag)
            if result == READ:
                return read_unclosed(s, settings, found, entry, parent, tag, &text)
            if result == OTHER:
                result = READ
        if result == READ:
            result = scan_end_tag(s, tag.name, tag.name_size)
        if result != READ:
            return result
    if rule.kind == LINK or rule.kind == FLAG:
        if text.size or is_repeated or (rule.kind == FLAG and not is_flag_of_a_kind(s)):
            return OTHER
    elif rule.kind <= PRIORITY:
        if is_repeated or (rule.kind == LOC and text.size == 0):
            return OTHER
    elif text.size == 0 and not has_rule_attribute(s, rule):
        return READ  # without a value an element does not count
    elif is_repeated:
        return OTHER
    parent.seen |= 1ULL << rule.field
    if rule.kind > PRIORITY:
        return add_node(s, found, entry, tag.code, &text)
    result = read_field(s, settings, found, entry, rule.kind, &text)
    if result != OTHER:
        return result
    if rule.kind == LOC and holds_greater_than(s, found, &text):
        return OTHER
    entry.state = ODD
    return READ


cdef inline Result lacks_end_tag(Scan* s, StartTag* tag) noexcept nogil:
    """READ where the tag behind the text of a field may be that of the next field, or the end of the entry."""
    cdef OpenElement* entry = &s.open[0]
    cdef Bytes name = s.p + 1
    cdef Py_ssize_t size = s.end - name
    if size < 1 or size < (entry.name_size + 2 if name[0] == c"/" else tag.name_size):
        return CUT
    if name[0] != c"/":  # a second tag of this name may be its end tag, without the slash
        return OTHER if same_bytes(name, tag.name, tag.name_size) else READ
    return READ if same_bytes(name + 1, entry.name, entry.name_size) and name[entry.name_size + 1] == c">" else OTHER


cdef Result read_unclosed(
    Scan* s, Settings* settings, Entries* found, Entry* entry, OpenElement* parent, StartTag* tag, Span* text
) noexcept nogil:
    """A field without its end tag, if its value is a usual one: it ends before the next tag."""
    if tag.code == 0 or s.depth > 1 or text.size == 0 or text.is_decoded:
        return OTHER
    if s.depth + 1 >= settings.max_depth:  # expat reports the next tag, which it opens in this element
        return OTHER
    if <int> entry.repairs >= min(s.max_repairs, settings.max_missing_tags):
        return OTHER
    if memchr(tag.name, c":", tag.name_size) != NULL or memchr(s.data + text.start, c"'", text.size) != NULL:
        return OTHER  # a quote in a URL may be the end of an attribute
    cdef Result result = read_field(s, settings, found, entry, RULES[tag.code].kind, text)
    if result != READ:
        return result
    parent.seen |= 1ULL << RULES[tag.code].field
    entry.repairs += 1
    entry.missing_tags += 1
    return READ if add_repair(s, found, s.p, tag.code) else NO_MEMORY


cdef inline bint holds_greater_than(Scan* s, Entries* found, Span* loc) noexcept nogil:
    """Whether a location holds a `>`, which EntryBuilder looks at."""
    return memchr(text_start(s.data, found, loc), c">", loc.size) != NULL


cdef inline bint find_text(Scan* s, StartTag* tag, Span* text) noexcept nogil:
    """The text up to the end tag of the element, without white space around it; False where it may not be as it stands.

    Only `&` and bytes beyond ASCII are looked for in it, as they are in no other value than a URL.
    """
    cdef Bytes begin = s.p
    cdef Bytes end = <Bytes> memchr(begin, c"<", s.end - begin)
    if end == NULL or s.end - end < tag.name_size + 3 or end[1] != c"/" or end[tag.name_size + 2] != c">":
        return False
    if not same_bytes(end + 2, tag.name, tag.name_size):
        return False
    while begin < end and (begin[0] == c" " or begin[0] == c"\n" or begin[0] == c"\t"):
        begin += 1
    while begin < end and ((end - 1)[0] == c" " or (end - 1)[0] == c"\n" or (end - 1)[0] == c"\t"):
        end -= 1
    text.start = <unsigned int> (begin - s.data)
    text.size = <unsigned int> (end - begin)
    text.is_decoded = False
    return begin < end and is_ascii(begin, end) and memchr(begin, c"&", end - begin) == NULL


cdef inline void move_behind(Scan* s, StartTag* tag, Span* text) noexcept nogil:
    """Moves from the beginning of a text that find_text() has found to behind the end tag."""
    cdef Bytes begin = s.data + text.start
    while s.p < begin:
        s.line += s.p[0] == c"\n"
        s.p += 1
    s.p += text.size
    while s.p[0] != c"<":
        s.line += s.p[0] == c"\n"
        s.p += 1
    s.p += tag.name_size + 3


cdef Result read_field(
    Scan* s, Settings* settings, Entries* found, Entry* entry, Kind kind, Span* text
) noexcept nogil:
    """A value of the protocol; OTHER where it is not in its usual shape, or a URL is out of scope."""
    cdef Bytes p = text_start(s.data, found, text)
    cdef Bytes end = p + text.size
    cdef bint is_usual
    if kind == LOC:
        return read_loc(s, settings, found, entry, text)
    if kind == LASTMOD:
        entry.lastmod = text[0]
        entry.has_empty_lastmod = text.size == 0
        is_usual = text.size == 0 or read_w3c_date(p, end, &entry.moment, &entry.precision)
        if not is_usual:
            entry.precision = NO_DATE
    elif kind == CHANGEFREQ:
        entry.changefreq = text[0]
        is_usual = text.size == 0 or read_changefreq(p, end, &entry.changefreq_number)
    else:
        entry.priority = text[0]
        is_usual = text.size == 0 or read_priority(p, end, &entry.priority_value)
    return READ if is_usual else OTHER


cdef Result read_loc(Scan* s, Settings* settings, Entries* found, Entry* entry, Span* text) noexcept nogil:
    """The loc: canonical, or as written with OTHER."""
    cdef Url url
    cdef Span loc = text[0]
    entry.written_loc = loc
    cdef Result result = as_url(s.data, found, &loc, &url)
    if result == READ and not settings.is_any_scope:
        result = OTHER if url.has_dot_escape else in_scope(text_start(s.data, found, &loc), loc.size, settings)
    entry.loc = loc if result == READ else text[0]
    return result


cdef Result finish_entry(Scan* s, Entries* found, Entry* entry) noexcept nogil:
    """Counts the entry, and decides about its state."""
    if entry.loc.size == 0:
        return OTHER
    entry.nodes = <unsigned int> found.node_count - entry.first_node
    if entry.missing_tags and (entry.state == ODD or entry.missing_tags < entry.repairs):
        return OTHER
    if entry.lacking and (entry.state == ODD or <int> entry.repairs + entry.lacking_count > s.max_repairs):
        return OTHER
    if entry.state != ODD:
        entry.state = REPAIRED if entry.repairs or entry.lacking else VALID
    s.max_repairs -= entry.repairs
    found.count += 1
    return READ


cdef inline Bytes text_start(Bytes data, Entries* found, Span* text) noexcept nogil:
    return (found.decoded.data if text.is_decoded else data) + text.start


cdef Result as_url(Bytes data, Entries* found, Span* text, Url* url) noexcept nogil:
    """Makes a text a canonical URL; OTHER where it is not one that read_url() knows."""
    cdef Bytes p
    cdef size_t before
    url.has_dot_escape = False
    if text.size >= MAX_URL_BYTES:
        return OTHER
    if not reserve(&found.decoded, 3 * text.size + 2):
        return NO_MEMORY
    before = found.decoded.size
    p = text_start(data, found, text)
    if not read_url(p, p + text.size, &found.decoded, url):
        return OTHER
    if url.is_changed:
        text.start = <unsigned int> before
        text.size = <unsigned int> (found.decoded.size - before)
        text.is_decoded = True
    return READ


cdef Result in_scope(Bytes p, Py_ssize_t size, Settings* settings) noexcept nogil:
    cdef int at
    for at in range(settings.prefix_count):
        if settings.prefix_sizes[at] <= size and memcmp(p, settings.prefixes[at], settings.prefix_sizes[at]) == 0:
            return READ
    return OTHER


# --- values of extensions --------------------------------------------------------------------------------------------

cdef inline Attribute* find_attribute(Scan* s, const char* name, Py_ssize_t size) noexcept nogil:
    cdef int at
    for at in range(s.attribute_count):
        if s.attributes[at].name_size == size and memcmp(s.attributes[at].name, name, size) == 0:
            return &s.attributes[at]
    return NULL


cdef bint is_flag_of_a_kind(Scan* s) noexcept nogil:
    """Whether a `mobile` has no `type`, or one of those that Baidu documents: all others are for _flag()."""
    cdef Attribute* kind = find_attribute(s, b"type", 4)
    return (
        kind == NULL
        or is_attribute(kind, b"type", 4, b"mobile", 6)
        or is_attribute(kind, b"type", 4, b"pc,mobile", 9)
        or is_attribute(kind, b"type", 4, b"htmladapt", 9)
    )


cdef bint has_rule_attribute(Scan* s, Rule* rule) noexcept nogil:
    cdef Attribute* attribute
    cdef int at
    for at in range(rule.attributes):
        attribute = find_attribute(s, rule.attribute_names[at], rule.attribute_sizes[at])
        if attribute != NULL and attribute.value_end > attribute.value:
            return True
    return False


cdef bint has_target(Scan* s) noexcept nogil:
    """Whether an alternate states its language, or has no attribute that may be one in another spelling (L01)."""
    cdef Attribute* language = find_attribute(s, b"hreflang", 8)
    cdef int known = 2 + (language != NULL) + (find_attribute(s, b"media", 5) != NULL)  # rel and href
    return (language != NULL and language.value < language.value_end) or s.attribute_count == known


cdef Result add_node(Scan* s, Entries* found, Entry* entry, unsigned char code, Span* text) noexcept nogil:
    """An element with its attributes; OTHER where a value is in another shape."""
    cdef Rule* rule = &RULES[code]
    cdef Attribute* attribute
    cdef Node* node = new_node(found)
    cdef Span value
    cdef Result result
    cdef int at
    cdef int depth = s.depth
    if node == NULL:
        return NO_MEMORY
    node.code, node.depth, node.attribute = code, depth, -1
    node.value = text[0]
    result = read_value(s, found, node, rule.kind, rule.limit)
    if result != READ:
        return result
    if rule.kind == LINK:
        attribute = find_attribute(s, b"rel", 3)
        if attribute == NULL or attribute.value_end - attribute.value != 9:
            return OTHER
        if memcmp(attribute.value, b"alternate", 9) != 0:
            return OTHER
    for at in range(rule.attributes):
        attribute = find_attribute(s, rule.attribute_names[at], rule.attribute_sizes[at])
        if attribute == NULL or attribute.value == attribute.value_end:
            if rule.kind == LINK and (rule.attribute_kinds[at] == URL or not has_target(s)):
                return OTHER
            continue
        # Of a link only the URL is stripped.
        if not decode_attribute(s, attribute, found, rule.kind != LINK or rule.attribute_kinds[at] == URL, &value):
            return NO_MEMORY
        if value.size == 0:
            return OTHER
        node = new_node(found)
        if node == NULL:
            return NO_MEMORY
        node.code, node.depth, node.attribute = code, depth, at
        node.value = value
        result = read_value(s, found, node, rule.attribute_kinds[at], rule.attribute_limits[at])
        if result != READ:
            return result
    return READ


cdef Result read_value(Scan* s, Entries* found, Node* node, Kind kind, long long limit) noexcept nogil:
    """Checks the value of a node, and reads it where it is no text."""
    cdef Url url
    cdef Bytes p = text_start(s.data, found, &node.value)
    cdef Bytes end = p + node.value.size
    cdef bint is_usual = True
    if node.value.size == 0:
        return READ
    if kind == URL:
        return as_url(s.data, found, &node.value, &url)
    if kind == DATE:
        is_usual = read_w3c_date(p, end, &node.number, &node.precision)
    elif kind == WHOLE or kind == DECIMAL:
        is_usual = read_number(p, end, limit, kind == WHOLE, &node.number)
    elif kind == BOOLEAN:
        is_usual = read_boolean(p, end, &node.number)
    return READ if is_usual else OTHER


# --- items and entries of feeds: rss_entries() and atom_entries() (dialects/feed.py) ------------------------------------

cdef enum:
    MAX_SKIPPED_DEPTH = 16
    DATES = 4

cdef const char* IANA_ALTERNATE = b"http://www.iana.org/assignments/relation/alternate"

# What decides about an item: its link, or a guid, and the first date of each kind.
cdef struct Item:
    Span link
    Span guid
    Span dates[DATES]
    bint has_guid
    bint is_permalink


cdef Result scan_item(Scan* s, Settings* settings, Entries* found) noexcept nogil:
    """The item or entry that begins at a `<`. Elements that say nothing about its URL are skipped."""
    cdef Entry* entry
    cdef Item item
    cdef Bytes name
    cdef Py_ssize_t name_size
    cdef unsigned int hash
    cdef unsigned char code
    cdef int elements = 0
    cdef bint is_empty
    cdef Bytes start = s.p
    cdef Bytes tag
    cdef Result result = begin_entry(s, settings, found)
    if result != READ:
        return result
    entry = &found.entries[found.count]
    memset(&item, 0, sizeof(Item))
    while True:
        result = find_tag(s)
        if result != READ:
            return result
        if s.p[1] == c"/":
            tag = s.p
            result = scan_end_tag(s, s.open[0].name, s.open[0].name_size)
            if result != READ:
                return result
            s.last_tag_size = s.p - tag
            break
        s.p += 1
        result = scan_name(s, &name, &name_size, &hash)
        if result != READ:
            return result
        code = find_name(&settings.names, name, name_size, hash)
        elements += 1
        if code == ENTRY_CODE or s.depth >= settings.max_depth or not is_known_or_other(settings, code, name, name_size):
            return OTHER
        result = scan_attributes(s, settings, &is_empty)
        if result != READ:
            return result
        if code == 0:
            if not is_empty:
                result = skip_content(s, settings, found, name, name_size, &elements)
        else:
            result = scan_item_field(s, found, &item, code, name, name_size, is_empty)
        if result != READ:
            return result
    if elements > settings.max_elements or s.p - start > MAX_ENTRY_BYTES:
        return OTHER
    return finish_item(s, settings, found, entry, &item)


cdef bint is_known_or_other(Settings* settings, unsigned char code, Bytes name, Py_ssize_t size) noexcept nogil:
    """False for a name that is read in any case, and for one that expat has to judge."""
    cdef Bytes local
    cdef int at
    if code:
        return code != PREFIX_CODE
    local = local_name(settings, name, size)
    if local == NULL:
        return False
    for at in range(FEED_WORDS):
        if is_word(local, name + size, FEED_WORD[at], FEED_WORD_SIZES[at]):
            return False
    return True


cdef Result scan_item_field(
    Scan* s, Entries* found, Item* item, unsigned char code, Bytes name, Py_ssize_t name_size, bint is_empty
) noexcept nogil:
    """A link, a guid or a date, whose start tag was read."""
    cdef Span text
    cdef Result result
    memset(&text, 0, sizeof(Span))
    if not is_empty:
        result = scan_text(s, found, URL if code == LINK_CODE or code == GUID_CODE else DATE, NULL, &text)
        if result == READ:
            result = scan_end_tag(s, name, name_size)
        if result != READ:
            return result
    if code == ATOM_LINK_CODE:
        return OTHER if text.size else add_atom_link(s, found, item)
    if code == GUID_CODE:
        if item.has_guid:
            return OTHER
        item.has_guid = True
        item.guid = text
        item.is_permalink = s.attribute_count == 0 or (
            s.attribute_count == 1 and is_attribute(&s.attributes[0], b"isPermaLink", 11, b"true", 4)
        )
        return READ
    if text.size == 0:
        return READ
    if code == LINK_CODE:
        if item.link.size:
            return OTHER
        item.link = text
    elif item.dates[code - DATE_CODE].size == 0:
        item.dates[code - DATE_CODE] = text
    return READ


cdef inline bint is_attribute(
    Attribute* attribute, const char* name, Py_ssize_t name_size, const char* value, Py_ssize_t size
) noexcept nogil:
    return (
        attribute.name_size == name_size
        and memcmp(attribute.name, name, name_size) == 0
        and attribute.value_end - attribute.value == size
        and memcmp(attribute.value, value, size) == 0
    )


cdef Result add_atom_link(Scan* s, Entries* found, Item* item) noexcept nogil:
    """The link to the page itself: without rel, or with one of these. OTHER at a second one (EntryBuilder notes it)."""
    cdef Attribute* href = find_attribute(s, b"href", 4)
    cdef Attribute* rel = find_attribute(s, b"rel", 3)
    cdef Bytes p
    if href == NULL or href.value == href.value_end:
        return READ
    if rel != NULL and rel.value != rel.value_end:
        p = rel.value
        while p < rel.value_end:  # blanks, references and characters that have no case
            if p[0] <= c" " or p[0] == c"&" or p[0] >= 0x80:
                return OTHER
            p += 1
        if not is_word(rel.value, rel.value_end, b"alternate", 9) and not is_word(
            rel.value, rel.value_end, IANA_ALTERNATE, strlen(IANA_ALTERNATE)
        ):
            return READ
    if item.link.size:
        return OTHER
    return READ if decode_attribute(s, href, found, True, &item.link) else NO_MEMORY


cdef Result finish_item(Scan* s, Settings* settings, Entries* found, Entry* entry, Item* item) noexcept nogil:
    """Chooses the link and the date, and counts the item."""
    cdef Bytes p
    cdef int at
    cdef Span loc = item.link
    cdef Result result
    if item.link.size == 0:
        p = text_start(s.data, found, &item.guid)
        if not item.is_permalink or item.guid.size < 8 or not (
            is_word(p, p + 7, b"http://", 7) or is_word(p, p + 8, b"https://", 8)
        ):
            return OTHER
        loc = item.guid
    result = read_loc(s, settings, found, entry, &loc)
    if result == NO_MEMORY or (result == OTHER and holds_greater_than(s, found, &loc)):
        return result
    if result == OTHER:
        entry.state = ODD
    for at in range(DATES):
        if item.dates[at].size:
            entry.lastmod = item.dates[at]
            p = text_start(s.data, found, &entry.lastmod)
            if not read_w3c_date(p, p + entry.lastmod.size, &entry.moment, &entry.precision) and not (
                read_rfc822_date(p, p + entry.lastmod.size, &entry.moment, &entry.precision)
            ):
                entry.precision = NO_DATE
                entry.state = ODD
            break
    return finish_entry(s, found, entry)


cdef Result skip_content(
    Scan* s, Settings* settings, Entries* found, Bytes name, Py_ssize_t name_size, int* elements
) noexcept nogil:
    """Moves past the content and the end tag of an element; the elements in it are counted."""
    cdef Bytes names[MAX_SKIPPED_DEPTH]
    cdef Py_ssize_t sizes[MAX_SKIPPED_DEPTH]
    cdef int depth = 1
    cdef unsigned int hash
    cdef bint is_empty, is_decoded
    cdef unsigned char code
    cdef Result result
    names[0], sizes[0] = name, name_size
    while depth:
        result = skip_text(s, found, URL if names_value(names[depth - 1], sizes[depth - 1]) else TEXT, NULL, &is_decoded)
        if result != READ:
            return result
        if s.p[1] == c"/":
            depth -= 1
            result = scan_end_tag(s, names[depth], sizes[depth])
            if result != READ:
                return result
            continue
        if depth == MAX_SKIPPED_DEPTH or s.depth + depth >= settings.max_depth:
            return OTHER
        s.p += 1
        result = scan_name(s, &names[depth], &sizes[depth], &hash)
        if result != READ:
            return result
        code = find_name(&settings.names, names[depth], sizes[depth], hash)
        elements[0] += 1
        if not is_known_or_other(settings, code, names[depth], sizes[depth]):
            return OTHER
        result = scan_attributes(s, settings, &is_empty)
        if result != READ:
            return result
        depth += not is_empty
    return READ


cdef inline bint names_value(Bytes name, Py_ssize_t size) noexcept nogil:
    """Whether the element of this name holds no text, but a URL (scan.names_location) or data (scan.DATA)."""
    cdef Bytes end = name + size
    return (
        (size == 7 and (memcmp(name, b"lastmod", 7) == 0 or memcmp(name, b"pubDate", 7) == 0))
        or (size == 8 and memcmp(name, b"priority", 8) == 0)
        or (size == 10 and memcmp(name, b"changefreq", 10) == 0)
        or (size >= 3 and memcmp(end - 3, b"loc", 3) == 0)
        or (size >= 4 and (memcmp(end - 4, b"link", 4) == 0 or memcmp(end - 4, b"guid", 4) == 0))
    )


# --- lines of text sitemaps (dialects/text.py) -------------------------------------------------------------------------

cdef Result scan_lines(Scan* s, Settings* settings, Entries* found, Py_ssize_t max_bytes) noexcept nogil:
    """The lines from `p` on; `p` is then behind the last one. OTHER at a line that TextReader has to read."""
    cdef Bytes end
    cdef Bytes next_line
    cdef Bytes feed = s.p - 1  # the next `\n` and `\r`, or the end
    cdef Bytes carriage = s.p - 1
    cdef Result result
    while True:
        if feed < s.p:
            feed = find_byte(s.p, s.end, c"\n")
        if carriage < s.p:
            carriage = find_byte(s.p, s.end, c"\r")
        end = min(feed, carriage)
        # A `\r` at the end may be the first half of a line break.
        if end == s.end or (end == carriage and end + 1 == s.end):
            return CUT
        if end - s.p > max_bytes:
            return OTHER
        next_line = end + (2 if end[0] == c"\r" and end[1] == c"\n" else 1)
        result = scan_line(s, settings, found, end)
        if result != READ:
            return result
        s.p = next_line
        s.line += 1


cdef inline Bytes find_byte(Bytes p, Bytes end, int byte) noexcept nogil:
    cdef Bytes found = <Bytes> memchr(p, byte, end - p)
    return end if found == NULL else found


cdef Result scan_line(Scan* s, Settings* settings, Entries* found, Bytes end) noexcept nogil:
    """The line up to `end`; blank ones are no entries."""
    cdef Bytes begin = s.p
    cdef Span text
    cdef Entry* entry
    cdef Result result
    strip(&begin, &end)
    if begin == end:
        return READ
    entry = new_entry(found, s.line)
    if entry == NULL:
        return NO_MEMORY
    text.start = <unsigned int> (begin - s.data)
    text.size = <unsigned int> (end - begin)
    text.is_decoded = False
    result = read_loc(s, settings, found, entry, &text)
    if result == NO_MEMORY:
        return result
    # A line that is no canonical URL as it stands may hold what Python strips or replaces.
    if (result == OTHER or entry.loc.is_decoded) and not is_utf8_text(begin, end):
        return OTHER
    if result == OTHER:
        entry.state = ODD
    return finish_entry(s, found, entry)


cdef bint is_utf8_text(Bytes p, Bytes end) noexcept nogil:
    """Whether bytes are valid UTF-8 without control characters but tabs."""
    cdef int size
    while p < end:
        if p[0] >= 0x80:
            size = character_size(p, end)
            if size <= 0:
                return False
            p += size
        elif p[0] < 0x20 and p[0] != c"\t":
            return False
        else:
            p += 1
    return True


# --- blocks of entries -----------------------------------------------------------------------------------------------

cdef Result scan_entries(Scan* s, Settings* settings, Entries* found) noexcept nogil:
    """The entries from `p` on, up to one that is not plain or is cut off; `p` is then behind the last one."""
    cdef Bytes end
    cdef int line
    cdef size_t nodes, decoded, repairs
    cdef Result result
    while True:
        end, line = s.p, s.line
        nodes, decoded, repairs = found.node_count, found.decoded.size, found.repairs.size
        result = find_tag(s)
        if result == READ:
            result = scan_item(s, settings, found) if settings.is_feed else scan_entry(s, settings, found)
        if result != READ:
            s.p, s.line = end, line
            found.node_count, found.decoded.size, found.repairs.size = nodes, decoded, repairs
            return result


# Of an entry that is scanned: longer ones are for expat, which checks the limits.
MAX_BYTES_OF_ENTRY = MAX_ENTRY_BYTES
MAX_PREFIXES_OF_SCOPE = MAX_PREFIXES


cdef class Scanner:
    """Scans the entries of documents with the same names. It keeps nothing of them: threads may share it.

    `names` are the elements as the document writes them, with the tags of its vocabulary, `dialect` is the one of these,
    `declared` are the prefixes that may be used. A URL that begins with one of the `prefixes` is in scope; None: every
    URL is. The limits are those for what stands in an entry.
    """

    cdef Settings _settings
    cdef list _prefixes
    cdef const char* _prefix_starts[MAX_PREFIXES]
    cdef Py_ssize_t _prefix_sizes[MAX_PREFIXES]

    def __init__(
        self, str dialect="sitemap", dict names=None, declared=(), prefixes=None, *, int max_depth=0, int max_elements=0,
        int max_attributes=0, int max_missing_tags=0,
    ):
        cdef int at
        cdef dict codes = codes_of(dialect)
        memset(&self._settings, 0, sizeof(Settings))
        self._settings.is_feed = dialect != "sitemap"
        known = {name: codes[tag] for name, tag in (names or {}).items()}
        known.update((prefix + b":", PREFIX_CODE) for prefix in (b"xml", *declared))
        for name, code in known.items():
            if len(name) <= MAX_NAME_BYTES and self._settings.names.count < MAX_NAMES:
                add_name(&self._settings.names, name, code)
        # The Normaliser compares with the prefixes that have no place here.
        self._prefixes = [prefix.encode() for prefix in prefixes or ()][:MAX_PREFIXES]
        for at, prefix in enumerate(self._prefixes):
            self._prefix_starts[at] = PyBytes_AS_STRING(prefix)
            self._prefix_sizes[at] = PyBytes_GET_SIZE(prefix)
        self._settings.is_any_scope = prefixes is None
        self._settings.prefix_count = len(self._prefixes)
        self._settings.prefixes = self._prefix_starts
        self._settings.prefix_sizes = self._prefix_sizes
        self._settings.max_depth = max_depth
        self._settings.max_elements = max_elements
        self._settings.max_attributes = max_attributes
        self._settings.max_missing_tags = max_missing_tags

    def scan(self, bytes data, Py_ssize_t start, int line, int max_repairs=0):
        """The ScannedEntries from the offset `start` on, where an entry has ended on `line`.

        At most `max_repairs` places are repaired: references in texts that are none of XML's, missing end tags.
        """
        return self._scan(data, start, line, max_repairs, -1)

    def scan_lines(self, bytes data, int line, Py_ssize_t max_bytes):
        """The ScannedEntries of the complete lines, up to one that is longer, or needs TextReader for other reasons."""
        return self._scan(data, 0, line, 0, max_bytes)

    cdef ScannedEntries _scan(self, bytes data, Py_ssize_t start, int line, int max_repairs, Py_ssize_t max_line_bytes):
        cdef Scan s
        cdef ScannedEntries block = ScannedEntries.__new__(ScannedEntries)
        cdef Result result
        cdef Py_ssize_t size = min(PyBytes_GET_SIZE(data), start + MAX_SCANNED_BYTES)
        s.data = <Bytes> PyBytes_AS_STRING(data)
        s.p = s.data + start
        s.end = s.data + size
        s.line = line
        s.max_repairs = max_repairs
        s.last_tag_size = 0
        memset(&s.expected, 0, sizeof(s.expected))
        with nogil:
            if max_line_bytes < 0:
                result = scan_entries(&s, &self._settings, &block.found)
            else:
                result = scan_lines(&s, &self._settings, &block.found, max_line_bytes)
        if result == NO_MEMORY:
            raise MemoryError
        block.data, block.shown_repairs = data, []
        block.start = start
        block.size = s.p - s.data - start
        block.breaks = s.line - line
        block.is_cut = result == CUT
        block.end_tag_size = s.last_tag_size
        return block


include "scanner_output.pxi"
include "scanner_columns.pxi"
include "scanner_rows.pxi"
