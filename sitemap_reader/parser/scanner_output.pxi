# What the spans become: records, columns, JSON lines, texts for the Normaliser; each made when it is asked for.

cdef tuple PRECISIONS = (None, *get_args(LastmodPrecision))  # by the enum Precision
cdef tuple CHANGEFREQS = (None, *get_args(ChangeFreq))
cdef object UTC = datetime.UTC
# The states of parts.
PLAIN_ENTRIES, RICH_ENTRIES, REPAIRED_ENTRY, ODD_ENTRY = PLAIN, RICH, REPAIRED, ODD
cdef tuple NO_VALUES = NO_EXTENSIONS
cdef int FIRST_ELEMENT_FIELD = 4  # of an entry: those before are the protocol's own


cdef object as_datetime(long long moment):
    cdef int year, month, day, seconds, fraction
    split_moment(moment, &year, &month, &day, &seconds, &fraction)
    return datetime_new(year, month, day, seconds // 3600, seconds // 60 % 60, seconds % 60, fraction, UTC)


cdef class ScannedEntries:
    """Consecutive entries: `size` bytes of `data` from `start` on, with `breaks` line breaks.

    `is_cut`: the bytes end in the next entry, or before it. `end_tag_size` is that of the last entry's end tag.
    `repairs` are the Problems of the references that are none of XML's: EntryParser sets them. `template` is the
    RawEntry that odd entries are filled into.
    """

    cdef Entries found
    cdef readonly bytes data
    cdef readonly Py_ssize_t start
    cdef readonly Py_ssize_t size
    cdef readonly int breaks
    cdef readonly bint is_cut
    cdef readonly Py_ssize_t end_tag_size
    cdef public list repairs
    cdef public object template

    def __dealloc__(self):
        free(self.found.entries)
        free(self.found.nodes)
        free(self.found.decoded.data)
        free(self.found.references.data)

    def __len__(self):
        return self.found.count

    def line(self, Py_ssize_t at):
        """The line of an entry."""
        return self._entry(at).line

    def parts(self, Py_ssize_t limit):
        """(start, stop, state) of the first entries: runs that are PLAIN or RICH, and others one by one."""
        cdef Py_ssize_t at = 0, start
        cdef Py_ssize_t count = min(limit, <Py_ssize_t> self.found.count)
        cdef State state
        cdef list found = []
        while at < count:
            start, state = at, self.found.entries[at].state
            at += 1
            while state <= RICH and at < count and self.found.entries[at].state == state:
                at += 1
            found.append((start, at, state))
        return found

    @property
    def repaired_references(self):
        """The offsets, from `start` on, of the `&` that are to be repaired."""
        cdef unsigned int* offsets = <unsigned int*> self.found.references.data
        cdef size_t at
        return [offsets[at] - self.start for at in range(self.found.references.size // sizeof(unsigned int))]

    # --- entries that are not valid ---

    def repairs_of(self, Py_ssize_t at):
        """How many `&` in the loc of an entry are to be repaired."""
        return self._entry(at).repaired_references

    def texts(self, Py_ssize_t at):
        """loc, lastmod, changefreq and priority of an entry as in the document, empty where they are missing."""
        cdef Entry* entry = self._entry(at)
        return (
            self._text(&entry.written_loc), self._text(&entry.lastmod), self._text(&entry.changefreq),
            self._text(&entry.priority),
        )

    def extensions(self, Py_ssize_t at):
        """The values of the fields of EXTENSIONS of an entry."""
        return self._extensions(self._entry(at))

    # --- valid entries ---

    def records(self, Py_ssize_t start, Py_ssize_t stop, sitemap):
        """The UrlRecords of entries."""
        cdef list found = []
        cdef Entry* entry
        cdef Py_ssize_t at
        for at, date in enumerate(self.datetimes(start, stop), start):
            entry = &self.found.entries[at]
            images, videos, news, alternates, mobile = self._extensions(entry) if entry.nodes else NO_VALUES
            found.append(
                UrlRecord(
                    self._text(&entry.loc), date, PRECISIONS[entry.precision], CHANGEFREQS[entry.changefreq_number],
                    self._priority(entry), images, videos, news, alternates, mobile, (), sitemap, entry.line,
                )
            )
        return found

    def datetimes(self, Py_ssize_t start, Py_ssize_t stop):
        """The lastmods of entries."""
        cdef list found = []
        cdef Entry* entry
        cdef Py_ssize_t at
        cdef long long last_moment = 0
        cdef object last_date = None
        self._check(start, stop)
        for at in range(start, stop):
            entry = &self.found.entries[at]
            if entry.precision == NO_DATE:
                found.append(None)
                continue
            if last_date is None or entry.moment != last_moment:  # often the date of the entry before
                last_moment, last_date = entry.moment, as_datetime(entry.moment)
            found.append(last_date)
        return found

    def references(self, Py_ssize_t start, Py_ssize_t stop, sitemap, authorities):
        """The SitemapRefs of the entries of an index."""
        cdef Py_ssize_t at
        cdef Entry* entry
        cdef list found = []
        self._check(start, stop)
        for at in range(start, stop):
            entry = &self.found.entries[at]
            date = None if entry.precision == NO_DATE else as_datetime(entry.moment)
            loc, precision = self._text(&entry.loc), PRECISIONS[entry.precision]
            found.append(SitemapRef(loc, date, precision, sitemap, entry.line, (), authorities))
        return found

    def columns(self, Py_ssize_t start, Py_ssize_t stop):
        """The columns of a UrlBatch of entries."""
        cdef Py_ssize_t at
        cdef Entry* entry
        cdef list locs = [], lastmods = [], precisions = [], changefreqs = [], priorities = [], lines = []
        self._check(start, stop)
        for at in range(start, stop):
            entry = &self.found.entries[at]
            locs.append(self._text(&entry.loc))
            lastmods.append(
                None if entry.precision == NO_DATE else entry.moment if entry.precision == SUBSECOND
                else entry.moment // MICROSECONDS
            )
            precisions.append(None if entry.precision == NO_DATE else entry.precision - 1)
            changefreqs.append(None if entry.changefreq_number == 0 else entry.changefreq_number - 1)
            priorities.append(self._priority(entry))
            lines.append(entry.line)
        return locs, lastmods, precisions, changefreqs, priorities, lines

    def json_lines(self, Py_ssize_t start, Py_ssize_t stop, bytes sitemap, bytes end):
        """The JSON lines of entries without extensions.

        `sitemap` is the value of that key as JSON, `end` what stands behind the value of `line`, its line feed included.
        """
        cdef size_t size = 0
        cdef Py_ssize_t at
        cdef Entry* entry
        cdef bytes lines
        cdef unsigned char* to
        cdef Bytes data = <Bytes> PyBytes_AS_STRING(self.data)
        cdef Bytes place = <Bytes> PyBytes_AS_STRING(sitemap)
        cdef Bytes tail = <Bytes> PyBytes_AS_STRING(end)
        cdef size_t place_size = PyBytes_GET_SIZE(sitemap), tail_size = PyBytes_GET_SIZE(end)
        self._check(start, stop)
        for at in range(start, stop):
            size += self.found.entries[at].loc.size
        size += (stop - start) * (MAX_LINE_BYTES + place_size + tail_size)
        lines = PyBytes_FromStringAndSize(NULL, size)
        to = <unsigned char*> PyBytes_AS_STRING(lines)
        with nogil:
            for at in range(start, stop):
                entry = &self.found.entries[at]
                to = write_line_start(place, 0, text_start(data, &self.found, &entry.loc), entry, to)
                to = write_line_end(entry, place, place_size, to)
                memcpy(to, tail, tail_size)
                to += tail_size
        return lines[: to - <unsigned char*> PyBytes_AS_STRING(lines)]

    # --- values ---

    cdef Entry* _entry(self, Py_ssize_t at) except NULL:
        self._check(at, at + 1)
        return &self.found.entries[at]

    cdef int _check(self, Py_ssize_t start, Py_ssize_t stop) except -1:
        if not 0 <= start <= stop <= <Py_ssize_t> self.found.count:
            raise IndexError(f"entries {start} to {stop} of {self.found.count}")
        return 0

    cdef str _text(self, Span* text):
        cdef const unsigned char* start = self.found.decoded.data
        if not text.size:
            return ""
        if not text.is_decoded:
            start = <Bytes> PyBytes_AS_STRING(self.data)
        return (<const char*> start)[text.start : text.start + text.size].decode("utf-8")

    cdef object _priority(self, Entry* entry):
        return None if entry.priority_value == NO_PRIORITY else entry.priority_value / <double> PRIORITY_SCALE

    cdef tuple _extensions(self, Entry* entry):
        cdef Node* node = self.found.nodes + entry.first_node
        cdef Node* stop = node + entry.nodes
        cdef int field
        cdef list values = [*NO_VALUES]
        cdef Rule* rule
        while node < stop:
            rule = &RULES[node.code]
            field = rule.field - FIRST_ELEMENT_FIELD
            if rule.kind == FLAG:
                value = True
                node += 1
            elif rule.kind == LINK:
                node += 1
                parts = [None] * rule.attributes
                while node < stop and node.attribute >= 0:
                    parts[node.attribute] = self._text(&node.value)
                    node += 1
                value = Alternate(*parts)
            else:
                record = RECORD_CLASSES[node.code]
                value = record(*self._fields(&node, stop))
            if rule.is_list:
                values[field] += (value,)
            else:
                values[field] = value
        return tuple(values)

    cdef list _fields(self, Node** position, Node* stop):
        """The values of the record at a position, which moves behind it."""
        cdef Node* node = position[0]
        cdef unsigned char record = node.code
        cdef list fields = [*EMPTY_FIELDS[record]]
        cdef list names = None
        cdef list into
        cdef Rule* rule
        cdef unsigned char depth = node.depth
        node += 1
        while node < stop and node.depth > depth:
            rule = &RULES[node.code]
            if rule.kind == OBJECT:
                names, inner = FIELD_NAMES[node.code], [*EMPTY_FIELDS[node.code]]
                node += 1
                while node < stop and node.depth > depth + 1 and RULES[RULES[node.code].parent].kind == OBJECT:
                    self._add(&node, stop, inner)
                fields[rule.field] = dict(zip(names, inner))
            else:
                self._add(&node, stop, fields)
        position[0] = node
        return fields

    cdef int _add(self, Node** position, Node* stop, list fields) except -1:
        """Adds the value of the element at a position, which moves behind it and its attributes."""
        cdef Node* node = position[0]
        cdef Rule* rule = &RULES[node.code]
        cdef unsigned char code = node.code
        value = self._value(node, rule.kind)
        if rule.kind == DATE and value is not None:
            fields[rule.field + 1] = PRECISIONS[node.precision]
        node += 1
        if rule.attributes:
            parts = dict.fromkeys(ATTRIBUTE_NAMES[code])
            while node < stop and node.attribute >= 0:
                parts[ATTRIBUTE_NAMES[code][node.attribute]] = self._value(node, rule.attribute_kinds[node.attribute])
                node += 1
            value = {"value": value, **parts}
        if rule.is_list:
            fields[rule.field] += (value,)
        else:
            fields[rule.field] = value
        position[0] = node
        return 0

    cdef object _value(self, Node* node, Kind kind):
        if not node.value.size:
            return None
        if kind == DATE:
            return as_datetime(node.number)
        if kind == BOOLEAN:
            return node.number == 1
        if kind == WHOLE:
            return node.number
        text = self._text(&node.value)
        if kind == WORDS:
            return tuple([part.strip() for part in text.split(",") if part.strip()])
        return float(text) if kind == DECIMAL else text


# --- the columns of a UrlBatch -------------------------------------------------------------------------------------------

cdef object moment_of(number, code):
    """A lastmod in a batch in microseconds."""
    return number if code == SUBSECOND - 1 else number * MICROSECONDS


def json_lines_of(columns, bytes sitemap, bytes end, bytes head=b""):
    """The JSON lines of the columns of a UrlBatch, whose locs are canonical.

    `sitemap` is the value of that key as JSON, `end` what stands behind the value of `line`, its line feed included;
    `head` are keys and values in front of the others.
    """
    cdef Buffer out
    cdef Entry entry
    cdef bytes loc
    cdef double priority
    cdef Bytes place = <Bytes> PyBytes_AS_STRING(sitemap)
    cdef size_t place_size = PyBytes_GET_SIZE(sitemap), head_size = PyBytes_GET_SIZE(head), end_size = PyBytes_GET_SIZE(end)
    cdef unsigned char* to
    memset(&out, 0, sizeof(Buffer))
    memset(&entry, 0, sizeof(Entry))
    try:
        for text, number, code, changefreq, stated, line in zip(*columns):
            loc = text.encode()
            entry.loc.size = PyBytes_GET_SIZE(loc)
            entry.precision = NO_DATE if number is None else code + 1
            entry.moment = 0 if number is None else moment_of(number, code)
            entry.changefreq_number = 0 if changefreq is None else changefreq + 1
            entry.line = line
            entry.priority_value = NO_PRIORITY
            if stated is not None:
                priority = stated
                entry.priority_value = <short> (priority * PRIORITY_SCALE + 0.5)
                if entry.priority_value / <double> PRIORITY_SCALE != priority:
                    entry.priority_value = OTHER_PRIORITY
            if not reserve(&out, entry.loc.size + MAX_LINE_BYTES + place_size + head_size + end_size):
                raise MemoryError
            to = out.data + out.size
            to = write_line_start(<Bytes> PyBytes_AS_STRING(head), head_size, <Bytes> PyBytes_AS_STRING(loc), &entry, to)
            if entry.priority_value == OTHER_PRIORITY:
                written = orjson.dumps(stated)
                memcpy(to, PyBytes_AS_STRING(written), PyBytes_GET_SIZE(written))
                to += PyBytes_GET_SIZE(written)
            to = write_line_end(&entry, place, place_size, to)
            memcpy(to, PyBytes_AS_STRING(end), end_size)
            out.size = to + end_size - out.data
        return PyBytes_FromStringAndSize(<const char*> out.data, out.size)
    finally:
        free(out.data)


# --- JSON lines ------------------------------------------------------------------------------------------------------

cdef enum:
    MAX_LINE_BYTES = 256  # of keys, dates and numbers


cdef inline unsigned char* write_literal(const char* text, unsigned char* to) noexcept nogil:
    cdef size_t size = strlen(text)  # a constant, after optimisation
    memcpy(to, text, size)
    return to + size


cdef inline unsigned char* write_two(int number, unsigned char* to) noexcept nogil:
    to[0] = c"0" + number // 10
    to[1] = c"0" + number % 10
    return to + 2


cdef unsigned char* write_number(int number, unsigned char* to) noexcept nogil:
    cdef unsigned char digits[12]
    cdef int at = 12
    while True:
        at -= 1
        digits[at] = c"0" + number % 10
        number //= 10
        if number == 0:
            break
    memcpy(to, &digits[at], 12 - at)
    return to + 12 - at


cdef unsigned char* write_stamp(long long moment, unsigned char* to) noexcept nogil:
    """`YYYY-MM-DDThh:mm:ss[.ffffff]Z`, without zeros at the end of the fraction."""
    cdef int year, month, day, seconds, fraction, at
    split_moment(moment, &year, &month, &day, &seconds, &fraction)
    to = write_two(year % 100, write_two(year // 100, to))
    to[0] = c"-"
    to = write_two(month, to + 1)
    to[0] = c"-"
    to = write_two(day, to + 1)
    to[0] = c"T"
    to = write_two(seconds // 3600, to + 1)
    to[0] = c":"
    to = write_two(seconds // 60 % 60, to + 1)
    to[0] = c":"
    to = write_two(seconds % 60, to + 1)
    if fraction:
        to[0] = c"."
        for at in range(6, 0, -1):
            to[at] = c"0" + fraction % 10
            fraction //= 10
        to += 7
        while (to - 1)[0] == c"0":
            to -= 1
    to[0] = c"Z"
    return to + 1


cdef unsigned char* write_priority(int value, unsigned char* to) noexcept nogil:
    """Ten-thousandths, with one decimal at least, as orjson writes floats."""
    cdef int at
    to[0] = c"0" + value // PRIORITY_SCALE
    to[1] = c"."
    value %= PRIORITY_SCALE
    for at in range(5, 1, -1):
        to[at] = c"0" + value % 10
        value //= 10
    to += 6
    while (to - 1)[0] == c"0" and (to - 2)[0] != c".":
        to -= 1
    return to


cdef unsigned char* write_word(const char* word, unsigned char* to) noexcept nogil:
    """A word in quotes."""
    to[0] = c'"'
    to = write_literal(word, to + 1)
    to[0] = c'"'
    return to + 1


cdef const char* PRECISION_WORDS[7]
PRECISION_WORDS[:] = [b"", b"year", b"month", b"day", b"minute", b"second", b"subsecond"]


cdef unsigned char* write_line_start(
    Bytes head, size_t head_size, Bytes loc, Entry* entry, unsigned char* to
) noexcept nogil:
    """A line up to the value of `priority`. No character of a canonical URL has to be escaped in JSON."""
    to[0] = c"{"
    memcpy(to + 1, head, head_size)
    to = write_literal(b'"loc":"', to + 1 + head_size)
    memcpy(to, loc, entry.loc.size)
    to += entry.loc.size
    if entry.precision == NO_DATE:
        to = write_literal(b'","lastmod":null,"lastmod_precision":null,"changefreq":', to)
    else:
        to = write_literal(b'","lastmod":"', to)
        to = write_stamp(entry.moment, to)
        to = write_literal(b'","lastmod_precision":', to)
        to = write_word(PRECISION_WORDS[entry.precision], to)
        to = write_literal(b',"changefreq":', to)
    if entry.changefreq_number:
        to = write_word(CHANGEFREQ_WORDS[entry.changefreq_number - 1], to)
    else:
        to = write_literal(b"null", to)
    to = write_literal(b',"priority":', to)
    if entry.priority_value == NO_PRIORITY:
        return write_literal(b"null", to)
    return to if entry.priority_value == OTHER_PRIORITY else write_priority(entry.priority_value, to)


cdef unsigned char* write_line_end(Entry* entry, Bytes sitemap, size_t sitemap_size, unsigned char* to) noexcept nogil:
    """What follows the priority, up to the value of `line`."""
    to = write_literal(b',"sitemap":', to)
    memcpy(to, sitemap, sitemap_size)
    to += sitemap_size
    to = write_literal(b',"line":', to)
    return write_number(entry.line, to)
