# What entries that were scanned become: columns (scanner_columns.pxi), references of an index, texts for the Normaliser.

cdef tuple PRECISIONS = (None, *PRECISION_NAMES)  # by the enum Precision
cdef object UTC = datetime.UTC
# The states of parts.
VALID_ENTRIES, REPAIRED_ENTRY, ODD_ENTRY = VALID, REPAIRED, ODD
cdef dict TAGS = {0: None, **{code: tag for tag, code in CODES.items()}}


cdef object as_datetime(long long moment):
    cdef int year, month, day, seconds, fraction
    split_moment(moment, &year, &month, &day, &seconds, &fraction)
    return datetime_new(year, month, day, seconds // 3600, seconds // 60 % 60, seconds % 60, fraction, UTC)


cdef class ScannedEntries:
    """Consecutive entries: `size` bytes of `data` from `start` on, with `breaks` line breaks.

    `is_cut`: the bytes end in the next entry, or before it. `end_tag_size` is that of the last entry's end tag.
    `shown_repairs` are the line, message, kind and raw text of its `repairs`: EntryParser sets them. `template` is the
    RawEntry that odd entries are filled into.
    """

    cdef Entries found
    cdef readonly bytes data
    cdef readonly Py_ssize_t start
    cdef readonly Py_ssize_t size
    cdef readonly int breaks
    cdef readonly bint is_cut
    cdef readonly Py_ssize_t end_tag_size
    cdef public list shown_repairs
    cdef public object template

    def __dealloc__(self):
        free(self.found.entries)
        free(self.found.nodes)
        free(self.found.decoded.data)
        free(self.found.repairs.data)

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
    def repairs(self):
        """The places that are to be repaired: the offset of each in `data`, its line, and the tag that is missing before it.

        None: there is a reference that is none of XML's.
        """
        cdef Repair* repairs = <Repair*> self.found.repairs.data
        cdef size_t at
        return [
            (repairs[at].offset, repairs[at].line, TAGS[repairs[at].code])
            for at in range(self.found.repairs.size // sizeof(Repair))
        ]

    @property
    def missing_tags(self):
        """The number of entries with missing end tags, and how many the last entry has."""
        cdef size_t at, count = 0
        for at in range(self.found.count):
            count += self.found.entries[at].missing_tags > 0
        return count, self.found.entries[self.found.count - 1].missing_tags if self.found.count else 0

    # --- entries that are not valid ---

    def repairs_of(self, Py_ssize_t at):
        """How many places of an entry are to be repaired."""
        return self._entry(at).repairs

    def lacking(self, Py_ssize_t at):
        """The tags of the records of an entry that were left out, as they state nothing."""
        cdef Entry* entry = self._entry(at)
        return [TAGS[entry.lacking]] * entry.lacking_count

    def texts(self, Py_ssize_t at):
        """loc, lastmod, changefreq and priority of an entry as in the document, empty where they are missing.

        A missing lastmod is None.
        """
        cdef Entry* entry = self._entry(at)
        lastmod = self._text(&entry.lastmod) if entry.lastmod.size or entry.has_empty_lastmod else None
        return self._text(&entry.written_loc), lastmod, self._text(&entry.changefreq), self._text(&entry.priority)

    def empty_lastmods(self, Py_ssize_t start, Py_ssize_t stop):
        """How many of these entries have a lastmod without text, and the line of the first."""
        cdef Py_ssize_t at, count = 0
        cdef int line = 0
        self._check(start, stop)
        for at in range(start, stop):
            if self.found.entries[at].has_empty_lastmod:
                line = line if count else self.found.entries[at].line
                count += 1
        return count, line

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
