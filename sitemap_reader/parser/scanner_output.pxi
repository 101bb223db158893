# What entries that were scanned become: columns (scanner_columns.pxi), references of an index, texts for the Normaliser.

cdef tuple PRECISIONS = (None, *PRECISION_NAMES)  # by the enum Precision
cdef object UTC = datetime.UTC
# The states of parts.
VALID_ENTRIES, REPAIRED_ENTRY, ODD_ENTRY = VALID, REPAIRED, ODD


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
        """(start, stop, state) of the first entries: runs that are VALID, and others one by one."""
        cdef Py_ssize_t at = 0, start
        cdef Py_ssize_t count = min(limit, <Py_ssize_t> self.found.count)
        cdef State state
        cdef list found = []
        while at < count:
            start, state = at, self.found.entries[at].state
            at += 1
            while state == VALID and at < count and self.found.entries[at].state == state:
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

    # --- valid entries ---

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
