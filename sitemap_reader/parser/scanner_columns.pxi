# The columns of a UrlBatch in memory: bytes and numbers, as in Arrow. They are filled from scanned entries or records.
#
# A column has a value for each item of its parent, up to its last one that is not null: nulls behind it are not stored.
# A URL is an item of the root; the items of a list are those of all its lists, one after the other.

cdef enum ColumnKind:
    TEXT_COLUMN
    WORD_COLUMN
    WHOLE_COLUMN
    DECIMAL_COLUMN
    BOOLEAN_COLUMN
    MOMENT_COLUMN
    LIST_COLUMN
    OBJECT_COLUMN

cdef enum:
    MAX_COLUMNS = 128
    MAX_WORDS = 8
    ROOT = 0

# What is the same in all stores.
cdef struct ColumnRule:
    ColumnKind kind
    int first_child  # the number of a column; the others follow
    int children
    const char* key  # `"name":`
    size_t key_size
    const char* words[MAX_WORDS]

cdef struct Column:
    size_t count
    Buffer values  # the bytes of texts; numbers of 8 bytes; a byte for a word or a flag
    Buffer ends  # where each text or list ends, as unsigned int
    Buffer valid  # a byte for each: 0 for null. Lists have none: they are empty

cdef ColumnRule COLUMN_RULES[MAX_COLUMNS]
cdef list COLUMN_TYPES = []  # the ColumnType of each
cdef list _COLUMN_BYTES = []  # to which the rules point
cdef dict ROOT_COLUMNS = {}  # name -> number
cdef dict _COLUMN_KINDS = {
    "text": TEXT_COLUMN, "word": WORD_COLUMN, "whole": WHOLE_COLUMN, "decimal": DECIMAL_COLUMN,
    "boolean": BOOLEAN_COLUMN, "moment": MOMENT_COLUMN, "list": LIST_COLUMN, "object": OBJECT_COLUMN,
}


cdef const char* _kept(text):
    """The UTF-8 of a text, which lives as long as the module."""
    _COLUMN_BYTES.append(text.encode())
    return PyBytes_AS_STRING(_COLUMN_BYTES[len(_COLUMN_BYTES) - 1])


def _fill_columns():
    cdef ColumnRule* rule
    cdef int number = 0, at
    COLUMN_TYPES.append(URL_COLUMNS)
    while number < len(COLUMN_TYPES):  # breadth first: the children of a column are neighbours
        column = COLUMN_TYPES[number]
        rule = &COLUMN_RULES[number]
        rule.kind = _COLUMN_KINDS[column.kind]
        rule.first_child, rule.children = len(COLUMN_TYPES), len(column.children)
        rule.key, rule.key_size = _kept(f'"{column.name}":'), len(column.name) + 3
        for at, word in enumerate(column.words):
            rule.words[at] = _kept(word)
        COLUMN_TYPES.extend(column.children)
        number += 1
    ROOT_COLUMNS.update((each.name, at) for at, each in enumerate(URL_COLUMNS.children, 1))


_fill_columns()

cdef int LOC_COLUMN = ROOT_COLUMNS["loc"]
cdef int LASTMOD_COLUMN = ROOT_COLUMNS["lastmod"]
cdef int PRECISION_COLUMN = ROOT_COLUMNS["lastmod_precision"]
cdef int CHANGEFREQ_COLUMN = ROOT_COLUMNS["changefreq"]
cdef int PRIORITY_COLUMN = ROOT_COLUMNS["priority"]
cdef int LINE_COLUMN = ROOT_COLUMNS["line"]
cdef int FIRST_NESTED_COLUMN = ROOT_COLUMNS[NESTED[0]]
cdef int NESTED_COLUMNS = len(NESTED)

# Code of an element (scanner_rules.pxi) -> the column that it fills: of a list that of its items, of a record the object.
cdef int COLUMN_OF_CODE[MAX_CODES]


cdef int _column_of(parent, name) except -1:
    """The number of a column of an object."""
    for at in range(COLUMN_RULES[<int> parent].children):
        if COLUMN_TYPES[COLUMN_RULES[<int> parent].first_child + at].name == name:
            return COLUMN_RULES[<int> parent].first_child + at
    raise KeyError(name)


cdef int _item_column(int number):
    """The column of the items, where a column is of lists."""
    return COLUMN_RULES[number].first_child if COLUMN_RULES[number].kind == LIST_COLUMN else number


def _fill_columns_of_codes():
    for tag, (field, _) in extensions.ELEMENT_FIELDS.items():
        COLUMN_OF_CODE[CODES[tag]] = ROOT_COLUMNS[field]
        for inner in extensions.TAG_RULES.get(tag, ()):
            COLUMN_OF_CODE[CODES[inner]] = _column_of(_item_column(ROOT_COLUMNS[field]), extensions.FIELD_OF_TAG[inner])
    for tag, inner in extensions.EMPTY_OBJECTS:
        parent = _item_column(ROOT_COLUMNS[extensions.ELEMENT_FIELDS[tag][0]])
        own = COLUMN_OF_CODE[CODES[inner]] = _column_of(parent, inner.partition(":")[2])
        for each in extensions.TAG_RULES[inner]:
            COLUMN_OF_CODE[CODES[each]] = _column_of(own, extensions.FIELD_OF_TAG[each])


_fill_columns_of_codes()


# --- writing ---------------------------------------------------------------------------------------------------------

cdef inline bint write_bytes(Buffer* out, const void* data, size_t size) noexcept nogil:
    """Appends bytes; where there are none, `data` may be NULL, which memcpy() does not take."""
    if not reserve(out, size):
        return False
    if size:
        memcpy(out.data + out.size, data, size)
        out.size += size
    return True


cdef inline unsigned int last_end(Column* column) noexcept nogil:
    return (<unsigned int*> column.ends.data)[column.count - 1] if column.count else 0


cdef inline bint is_wide(ColumnKind kind) noexcept nogil:
    """Whether values are numbers of 8 bytes."""
    return kind == WHOLE_COLUMN or kind == DECIMAL_COLUMN or kind == MOMENT_COLUMN


cdef bint add_nulls(Column* column, ColumnKind kind, size_t count) noexcept nogil:
    """Fills a column with nulls, or empty lists, up to this count."""
    cdef size_t missing, size, at
    cdef unsigned int end
    cdef unsigned int* ends
    if count <= column.count:
        return True
    missing = count - column.count
    if kind == TEXT_COLUMN or kind == LIST_COLUMN:
        end = last_end(column)
        if not reserve(&column.ends, missing * sizeof(unsigned int)):
            return False
        ends = <unsigned int*> (column.ends.data + column.ends.size)
        column.ends.size += missing * sizeof(unsigned int)
        for at in range(missing):
            ends[at] = end
    elif kind != OBJECT_COLUMN:
        size = missing * (8 if is_wide(kind) else 1)
        if not reserve(&column.values, size):
            return False
        memset(column.values.data + column.values.size, 0, size)
        column.values.size += size
    if kind != LIST_COLUMN:
        if not reserve(&column.valid, missing):
            return False
        memset(column.valid.data + column.valid.size, 0, missing)
        column.valid.size += missing
    column.count = count
    return True


cdef inline bint add_end(Column* column, size_t end) noexcept nogil:
    cdef unsigned int offset = <unsigned int> end
    if end > MAX_COLUMN_BYTES or not write_bytes(&column.ends, &offset, sizeof(offset)):
        return False
    column.count += 1
    return True


cdef enum:
    MAX_COLUMN_BYTES = 0x7FFFFFFF  # Arrow's offsets are signed


cdef inline bint add_valid(Column* column) noexcept nogil:
    cdef unsigned char valid = 1
    return write_bytes(&column.valid, &valid, 1)


cdef bint put_text(Column* column, size_t index, Bytes text, size_t size) noexcept nogil:
    """The text of an item, which is behind the last one."""
    return (
        add_nulls(column, TEXT_COLUMN, index) and write_bytes(&column.values, text, size)
        and add_valid(column) and add_end(column, column.values.size)
    )


cdef bint put_number(Column* column, ColumnKind kind, size_t index, const void* number) noexcept nogil:
    """A long long, or of a DECIMAL_COLUMN a double."""
    if not add_nulls(column, kind, index) or not write_bytes(&column.values, number, 8) or not add_valid(column):
        return False
    column.count += 1
    return True


cdef bint put_byte(Column* column, ColumnKind kind, size_t index, unsigned char byte) noexcept nogil:
    """The index of a word, or a flag."""
    if not add_nulls(column, kind, index) or not write_bytes(&column.values, &byte, 1) or not add_valid(column):
        return False
    column.count += 1
    return True


cdef bint put_object(Column* column, size_t index) noexcept nogil:
    if not add_nulls(column, OBJECT_COLUMN, index) or not add_valid(column):
        return False
    column.count += 1
    return True


cdef bint add_item(Column* column, size_t index, size_t* item) noexcept nogil:
    """Lengthens the list of an item by one, or begins it; `item` is the index of the new one."""
    if not add_nulls(column, LIST_COLUMN, index):
        return False
    item[0] = last_end(column)
    if column.count == index:
        return add_end(column, item[0] + 1)
    (<unsigned int*> column.ends.data)[index] = <unsigned int> item[0] + 1
    return True


cdef bint copy_items(Column* to, Column* source, int number, size_t start, size_t stop, size_t index) noexcept nogil:
    """Items from `start` up to `stop` of a column and its children, to `index` and behind it."""
    cdef ColumnRule* rule = &COLUMN_RULES[number]
    cdef Column* column = &to[number]
    cdef Column* other = &source[number]
    cdef unsigned int* ends = <unsigned int*> other.ends.data
    cdef size_t first, last, width, own, at
    cdef int child
    stop = min(stop, other.count)
    if number != ROOT:
        if stop <= start:
            return True
        if not add_nulls(column, rule.kind, index):
            return False
    if number != ROOT and rule.kind != LIST_COLUMN and not write_bytes(
        &column.valid, other.valid.data + start, stop - start
    ):
        return False
    if rule.kind == OBJECT_COLUMN:
        column.count += stop - start
        for child in range(rule.first_child, rule.first_child + rule.children):
            if not copy_items(to, source, child, start, stop, index):
                return False
        return True
    if rule.kind != TEXT_COLUMN and rule.kind != LIST_COLUMN:
        width = 8 if is_wide(rule.kind) else 1
        column.count += stop - start
        return write_bytes(&column.values, other.values.data + width * start, width * (stop - start))
    first, last = ends[start - 1] if start else 0, ends[stop - 1]
    own = last_end(column)
    if rule.kind == TEXT_COLUMN:
        if not write_bytes(&column.values, other.values.data + first, last - first):
            return False
    elif not copy_items(to, source, rule.first_child, first, last, own):
        return False
    for at in range(start, stop):
        if not add_end(column, own + ends[at] - first):
            return False
    return True


# --- from scanned entries --------------------------------------------------------------------------------------------

cdef bint copy_entry(Column* columns, Bytes data, Entries* found, Entry* entry) noexcept nogil:
    """A valid entry as the next URL; False where there is no memory."""
    cdef size_t row = columns[ROOT].count
    cdef long long line = entry.line
    cdef double priority
    if not put_text(&columns[LOC_COLUMN], row, text_start(data, found, &entry.loc), entry.loc.size):
        return False
    if entry.precision != NO_DATE and not (
        put_number(&columns[LASTMOD_COLUMN], MOMENT_COLUMN, row, &entry.moment)
        and put_byte(&columns[PRECISION_COLUMN], WORD_COLUMN, row, entry.precision - 1)
    ):
        return False
    if entry.changefreq_number and not put_byte(
        &columns[CHANGEFREQ_COLUMN], WORD_COLUMN, row, entry.changefreq_number - 1
    ):
        return False
    if entry.priority_value != NO_PRIORITY:
        priority = entry.priority_value / <double> PRIORITY_SCALE
        if not put_number(&columns[PRIORITY_COLUMN], DECIMAL_COLUMN, row, &priority):
            return False
    if not put_number(&columns[LINE_COLUMN], WHOLE_COLUMN, row, &line):
        return False
    if entry.nodes and not copy_nodes(columns, data, found, entry, row):
        return False
    columns[ROOT].count += 1
    return True


cdef bint copy_nodes(Column* columns, Bytes data, Entries* found, Entry* entry, size_t row) noexcept nogil:
    """The elements of extensions in an entry, which are in the order of the document."""
    cdef Node* node = found.nodes + entry.first_node
    cdef Node* stop = node + entry.nodes
    cdef Rule* rule
    cdef size_t item = row  # of the record that the element is in
    cdef int number
    while node < stop:
        rule = &RULES[node.code]
        number = COLUMN_OF_CODE[node.code]
        if rule.kind == RECORD or rule.kind == LINK:
            item = row
            if COLUMN_RULES[number].kind == LIST_COLUMN:
                if not add_item(&columns[number], row, &item):
                    return False
                number = COLUMN_RULES[number].first_child
            if not put_object(&columns[number], item):
                return False
            node += 1
            if not copy_attributes(columns, data, found, &node, stop, number, item, -1):
                return False
        elif rule.kind == FLAG:
            if not put_byte(&columns[number], BOOLEAN_COLUMN, row, 1):
                return False
            node += 1
        elif rule.kind == OBJECT:
            if not put_object(&columns[number], item):
                return False
            node += 1
        elif not copy_value(columns, data, found, &node, stop, number, item):
            return False
    return True


cdef bint copy_value(
    Column* columns, Bytes data, Entries* found, Node** position, Node* stop, int number, size_t item
) noexcept nogil:
    """The value of an element, with its attributes; the position moves behind them."""
    cdef Node* node = position[0]
    cdef Rule* rule = &RULES[node.code]
    cdef int first = COLUMN_RULES[number].first_child
    position[0] += 1
    if rule.kind == WORDS:
        return copy_words(&columns[number], &columns[first], item, text_start(data, found, &node.value), node.value.size)
    if rule.is_list:
        if not add_item(&columns[number], item, &item):
            return False
        number = first
        first = COLUMN_RULES[number].first_child
    if rule.attributes == 0:
        if not copy_node(columns, data, found, node, rule.kind, number, item):
            return False
        if rule.kind == DATE and node.value.size:  # its precision stands behind it
            return put_byte(&columns[number + 1], WORD_COLUMN, item, node.precision - 1)
        return True
    if not put_object(&columns[number], item) or not copy_node(columns, data, found, node, rule.kind, first, item):
        return False
    return copy_attributes(columns, data, found, position, stop, number, item, 0)


cdef bint copy_attributes(
    Column* columns, Bytes data, Entries* found, Node** position, Node* stop, int number, size_t item, int before
) noexcept nogil:
    """The attributes behind an element; `before` is the place of the column of its value, -1 where it has none."""
    cdef Node* node = position[0]
    cdef int first = COLUMN_RULES[number].first_child + before + 1
    while node < stop and node.attribute >= 0:
        if not copy_node(
            columns, data, found, node, RULES[node.code].attribute_kinds[node.attribute], first + node.attribute, item
        ):
            return False
        node += 1
    position[0] = node
    return True


cdef bint copy_node(
    Column* columns, Bytes data, Entries* found, Node* node, Kind kind, int number, size_t item
) noexcept nogil:
    cdef Column* column = &columns[number]
    cdef Bytes text = text_start(data, found, &node.value)
    if node.value.size == 0:
        return True
    if kind == DATE or kind == WHOLE or kind == DECIMAL:
        return put_number(column, COLUMN_RULES[number].kind, item, &node.number)
    if kind == BOOLEAN:
        return put_byte(column, BOOLEAN_COLUMN, item, node.number == 1)
    return put_text(column, item, text, node.value.size)


cdef bint copy_words(Column* lists, Column* words, size_t item, Bytes p, size_t size) noexcept nogil:
    """The parts between commas that are not blank."""
    cdef Bytes end = p + size
    cdef Bytes start
    cdef Bytes stop
    cdef size_t index
    while p < end:
        start = p
        while p < end and p[0] != c",":
            p += 1
        stop = p
        p += 1
        strip(&start, &stop)
        if start < stop and not (
            add_item(lists, item, &index) and put_text(words, index, start, stop - start)
        ):
            return False
    return True


# --- JSON ------------------------------------------------------------------------------------------------------------

cdef inline bint write_literal(Buffer* out, const char* text) noexcept nogil:
    return write_bytes(out, text, strlen(text))  # a constant, after optimisation


cdef bint write_json_text(Buffer* out, Bytes p, size_t size) noexcept nogil:
    """A text in quotes, escaped as orjson does it."""
    cdef Bytes end = p + size
    cdef Bytes start
    cdef unsigned char* to
    if not reserve(out, 6 * size + 2):
        return False
    to = out.data + out.size
    to[0] = c'"'
    to += 1
    while True:
        start = p
        while p < end and not CLASSES[p[0]] & IS_ESCAPED:
            p += 1
        if p > start:
            memcpy(to, start, p - start)
            to += p - start
        if p == end:
            break
        to[0] = c"\\"
        to += 2
        if p[0] == c'"' or p[0] == c"\\":
            (to - 1)[0] = p[0]
        elif p[0] == c"\n":
            (to - 1)[0] = c"n"
        elif p[0] == c"\t":
            (to - 1)[0] = c"t"
        elif p[0] == c"\r":
            (to - 1)[0] = c"r"
        elif p[0] == 8:
            (to - 1)[0] = c"b"
        elif p[0] == 12:
            (to - 1)[0] = c"f"
        else:
            memcpy(to - 1, b"u00", 3)
            to[2] = c"0" + (p[0] >> 4)
            to[3] = b"0123456789abcdef"[p[0] & 15]
            to += 4
        p += 1
    to[0] = c'"'
    out.size = to + 1 - out.data
    return True


cdef bint write_decimal(Buffer* out, double number) noexcept nogil:
    """A float as orjson writes it: the shortest decimal that reads back as the same."""
    cdef double scaled, power = 1
    cdef long long whole
    cdef int decimals
    cdef int at
    cdef unsigned char digits[24]
    # m / 10^k with m < 2^53 and k <= 22 is rounded correctly: it is the float that the text of m and k stands for.
    if 1e-5 <= number < 1e15 or (number == 0 and not signbit(number)):
        for decimals in range(1, 12):
            power *= 10
            scaled = number * power
            if scaled >= 9e15:
                break
            whole = <long long> (scaled + 0.5)
            if whole / power == number:
                at = 24
                while at == 24 or whole or 24 - at < decimals + 2:
                    if 24 - at == decimals:
                        at -= 1
                        digits[at] = c"."
                    at -= 1
                    digits[at] = c"0" + whole % 10
                    whole //= 10
                return write_bytes(out, &digits[at], 24 - at)
    with gil:
        text = orjson.dumps(number)
        return write_bytes(out, PyBytes_AS_STRING(text), PyBytes_GET_SIZE(text))


cdef bint write_whole(Buffer* out, long long number) noexcept nogil:
    cdef unsigned char digits[24]
    cdef int at = 24
    cdef unsigned long long left = <unsigned long long> number
    if number < 0:
        left = -left
    while at == 24 or left:
        at -= 1
        digits[at] = c"0" + left % 10
        left //= 10
    if number < 0:
        at -= 1
        digits[at] = c"-"
    return write_bytes(out, &digits[at], 24 - at)


cdef bint write_moment(Buffer* out, long long moment) noexcept nogil:
    """`"YYYY-MM-DDThh:mm:ss[.ffffff]Z"`, without zeros at the end of the fraction."""
    cdef int year, month, day, seconds, fraction, at
    cdef unsigned char* to
    if not reserve(out, 32):
        return False
    split_moment(moment, &year, &month, &day, &seconds, &fraction)
    to = out.data + out.size
    to[0] = c'"'
    to = write_two(year % 100, write_two(year // 100, to + 1))
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
    to[1] = c'"'
    out.size = to + 2 - out.data
    return True


cdef inline unsigned char* write_two(int number, unsigned char* to) noexcept nogil:
    to[0] = c"0" + number // 10
    to[1] = c"0" + number % 10
    return to + 2


cdef inline size_t list_start(Column* column, size_t index) noexcept nogil:
    return (<unsigned int*> column.ends.data)[index - 1] if index else 0


cdef inline size_t list_end(Column* column, size_t index) noexcept nogil:
    return (<unsigned int*> column.ends.data)[index]


cdef inline bint has_value(Column* column, ColumnKind kind, size_t index) noexcept nogil:
    """Whether a value is not null, or a list not empty."""
    if index >= column.count:
        return False
    if kind == LIST_COLUMN:
        return list_end(column, index) > list_start(column, index)
    return column.valid.data[index]


cdef bint write_value(Column* columns, int number, size_t index, Buffer* out) noexcept nogil:
    """The JSON of an item of a column; the recursion is as deep as the types are."""
    cdef ColumnRule* rule = &COLUMN_RULES[number]
    cdef Column* column = &columns[number]
    cdef size_t start, stop, at
    cdef int child
    if rule.kind == LIST_COLUMN:
        start = stop = 0
        if index < column.count:
            start, stop = list_start(column, index), list_end(column, index)
        if not write_literal(out, b"["):
            return False
        for at in range(start, stop):
            if (at > start and not write_literal(out, b",")) or not write_value(columns, rule.first_child, at, out):
                return False
        return write_literal(out, b"]")
    if not has_value(column, rule.kind, index):
        return write_literal(out, b"null")
    if rule.kind == TEXT_COLUMN:
        start = list_start(column, index)
        return write_json_text(out, column.values.data + start, list_end(column, index) - start)
    if rule.kind == OBJECT_COLUMN:
        for child in range(rule.children):
            if not write_literal(out, b"," if child else b"{") or not write_member(
                columns, rule.first_child + child, index, out
            ):
                return False
        return write_literal(out, b"}")
    if rule.kind == WORD_COLUMN:
        return (
            write_literal(out, b'"') and write_literal(out, rule.words[column.values.data[index]])
            and write_literal(out, b'"')
        )
    if rule.kind == BOOLEAN_COLUMN:
        return write_literal(out, b"true" if column.values.data[index] else b"false")
    if rule.kind == MOMENT_COLUMN:
        return write_moment(out, (<long long*> column.values.data)[index])
    if rule.kind == WHOLE_COLUMN:
        return write_whole(out, (<long long*> column.values.data)[index])
    return write_decimal(out, (<double*> column.values.data)[index])


cdef inline bint write_member(Column* columns, int number, size_t index, Buffer* out) noexcept nogil:
    """A key with its value."""
    cdef ColumnRule* rule = &COLUMN_RULES[number]
    return write_bytes(out, rule.key, rule.key_size) and write_value(columns, number, index, out)


cdef bint is_stated(Column* columns, int number, size_t index) noexcept nogil:
    """Whether a nested value is in the line of its URL."""
    cdef Column* column = &columns[number]
    cdef ColumnKind kind = COLUMN_RULES[number].kind
    return has_value(column, kind, index) and (kind != BOOLEAN_COLUMN or column.values.data[index])


cdef bint write_line(
    Column* columns, size_t row, Bytes head, size_t head_size, Bytes sitemap, size_t sitemap_size, Buffer* out
) noexcept nogil:
    """The JSON line of a URL, without its Problems and what follows them."""
    cdef int number
    if not write_literal(out, b"{") or not write_bytes(out, head, head_size):
        return False
    for number in range(1, FIRST_NESTED_COLUMN):
        if not write_member(columns, number, row, out) or not write_literal(out, b","):
            return False
    if not write_literal(out, b'"sitemap":') or not write_bytes(out, sitemap, sitemap_size):
        return False
    if not write_literal(out, b",") or not write_member(columns, LINE_COLUMN, row, out):
        return False
    for number in range(FIRST_NESTED_COLUMN, FIRST_NESTED_COLUMN + NESTED_COLUMNS):
        if is_stated(columns, number, row) and not (
            write_literal(out, b",") and write_member(columns, number, row, out)
        ):
            return False
    return True


# --- the store -------------------------------------------------------------------------------------------------------

cdef class NativeColumns:
    """URLs as bytes and numbers: a UrlColumns (model/url_batch.py)."""

    cdef Column columns[MAX_COLUMNS]
    cdef public dict problems

    def __cinit__(self):
        memset(self.columns, 0, sizeof(self.columns))
        self.problems = {}

    def __dealloc__(self):
        cdef int number
        for number in range(MAX_COLUMNS):
            free(self.columns[number].values.data)
            free(self.columns[number].ends.data)
            free(self.columns[number].valid.data)

    def __len__(self):
        return self.columns[ROOT].count

    def empty(self):
        return NativeColumns()

    def append(self, record):
        cdef int at
        cdef size_t row = self.columns[ROOT].count
        if record.problems:
            self.problems[row] = record.problems
        for at in range(COLUMN_RULES[ROOT].children):
            self._put(1 + at, row, getattr(record, COLUMN_TYPES[1 + at].name))
        self.columns[ROOT].count += 1

    def append_entry(self, record, ScannedEntries block, Py_ssize_t at):
        """Adds a record without extensions, with those of a scanned entry."""
        cdef size_t row = self.columns[ROOT].count
        cdef Entry* entry = block._entry(at)
        self.append(record)
        if entry.nodes and not copy_nodes(
            self.columns, <Bytes> PyBytes_AS_STRING(block.data), &block.found, entry, row
        ):
            raise MemoryError

    def extend(self, NativeColumns other, Py_ssize_t start, Py_ssize_t stop):
        cdef bint is_done
        cdef Py_ssize_t row = self.columns[ROOT].count
        other._check(start, stop)
        with nogil:
            is_done = copy_items(self.columns, other.columns, ROOT, start, stop, row)
        if not is_done:
            raise MemoryError
        self.problems.update((row + at - start, each) for at, each in other.problems.items() if start <= at < stop)

    def extend_entries(self, ScannedEntries block, Py_ssize_t start, Py_ssize_t stop):
        """Adds valid entries that were scanned."""
        cdef Py_ssize_t at
        cdef bint is_done = True
        cdef Bytes data = <Bytes> PyBytes_AS_STRING(block.data)
        block._check(start, stop)
        with nogil:
            for at in range(start, stop):
                is_done = is_done and copy_entry(self.columns, data, &block.found, &block.found.entries[at])
        if not is_done:
            raise MemoryError

    # --- reading ---

    def values(self, str name, Py_ssize_t start, Py_ssize_t stop):
        cdef int number = ROOT_COLUMNS[name]
        cdef size_t row
        cdef Column* column = &self.columns[number]
        cdef Column* precisions = &self.columns[PRECISION_COLUMN]
        cdef list found = [None] * (stop - start)
        self._check(start, stop)
        for row in range(start, min(<size_t> stop, column.count)):
            if not column.valid.data[row]:
                continue
            if number == LASTMOD_COLUMN:
                moment = (<long long*> column.values.data)[row]
                is_exact = has_value(precisions, WORD_COLUMN, row) and precisions.values.data[row] == SUBSECOND - 1
                found[row - start] = moment if is_exact else floor_of(moment, MICROSECONDS)
            elif COLUMN_RULES[number].kind == WORD_COLUMN:
                found[row - start] = column.values.data[row]
            else:
                found[row - start] = self._value(number, row)
        return found

    def counts(self, str name, Py_ssize_t start, Py_ssize_t stop):
        cdef int number = ROOT_COLUMNS[name]
        cdef Column* column = &self.columns[number]
        cdef bint is_list = COLUMN_RULES[number].kind == LIST_COLUMN
        cdef Py_ssize_t at
        cdef list counts = [0] * (stop - start)
        self._check(start, stop)
        for at in range(start, min(stop, <Py_ssize_t> column.count)):
            if is_stated(self.columns, number, at):
                counts[at - start] = list_end(column, at) - list_start(column, at) if is_list else 1
        return counts

    def items(self, str name, str key, Py_ssize_t start, Py_ssize_t stop):
        cdef int number = ROOT_COLUMNS[name], child
        cdef size_t item
        cdef Column* column = &self.columns[number]
        self._check(start, stop)
        start, stop = min(start, <Py_ssize_t> column.count), min(stop, <Py_ssize_t> column.count)
        if COLUMN_RULES[number].kind == LIST_COLUMN:
            start, stop = list_start(column, start), list_start(column, stop)
            child = _column_of(COLUMN_RULES[number].first_child, key)
            return [self._value(child, item) for item in range(start, stop)]
        child = _column_of(number, key)
        return [self._value(child, item) for item in range(start, stop) if is_stated(self.columns, number, item)]

    def records(self, Py_ssize_t start, Py_ssize_t stop, sitemap):
        cdef Py_ssize_t row
        cdef list found = []
        cdef long long last_moment = 0
        cdef object last_date = None
        cdef Column* dates = &self.columns[LASTMOD_COLUMN]
        self._check(start, stop)
        for row in range(start, stop):
            lastmod = None
            if has_value(dates, MOMENT_COLUMN, row):
                moment = (<long long*> dates.values.data)[row]
                if last_date is None or moment != last_moment:  # often the date of the URL before
                    last_moment, last_date = moment, as_datetime(moment)
                lastmod = last_date
            record = UrlRecord(
                self._value(LOC_COLUMN, row), lastmod, self._value(PRECISION_COLUMN, row),
                self._value(CHANGEFREQ_COLUMN, row), self._value(PRIORITY_COLUMN, row),
            )
            for number in range(FIRST_NESTED_COLUMN, FIRST_NESTED_COLUMN + NESTED_COLUMNS):
                if is_stated(self.columns, number, row):
                    setattr(record, COLUMN_TYPES[number].name, self._value(number, row))
            record.sitemap, record.line = sitemap, self._value(LINE_COLUMN, row)
            found.append(record)
        for row, problems in self.problems.items():
            if start <= row < stop:
                found[row - start].problems = problems
        return found

    def json_lines(self, Py_ssize_t start, Py_ssize_t stop, bytes sitemap, bytes end, bytes head, dict tails):
        """The JSON lines of URLs.

        `sitemap` is the value of that key as JSON, `head` what stands in front of `loc`, `end` behind all others, its
        line feed included, and `tails` before that, by index.
        """
        cdef Buffer out
        cdef Py_ssize_t row = start, next_row
        cdef Bytes place = <Bytes> PyBytes_AS_STRING(sitemap)
        cdef Bytes first = <Bytes> PyBytes_AS_STRING(head)
        cdef Bytes last = <Bytes> PyBytes_AS_STRING(end)
        cdef size_t place_size = PyBytes_GET_SIZE(sitemap), first_size = PyBytes_GET_SIZE(head)
        cdef size_t last_size = PyBytes_GET_SIZE(end)
        cdef bint is_done = True
        self._check(start, stop)
        memset(&out, 0, sizeof(Buffer))
        try:
            for next_row in (*sorted(tails), stop):
                with nogil:
                    while is_done and row < next_row:
                        is_done = write_line(
                            self.columns, row, first, first_size, place, place_size, &out
                        ) and write_bytes(&out, last, last_size)
                        row += 1
                    if is_done and row < stop:
                        is_done = write_line(self.columns, row, first, first_size, place, place_size, &out)
                if is_done and row < stop:
                    tail = tails[row] + end
                    is_done = write_bytes(&out, PyBytes_AS_STRING(tail), PyBytes_GET_SIZE(tail))
                    row += 1
                if not is_done:
                    raise MemoryError
            return PyBytes_FromStringAndSize(<const char*> out.data, out.size)
        finally:
            free(out.data)

    def json_values(self, str name, Py_ssize_t start, Py_ssize_t stop):
        """The JSON of each URL's value in a nested column; None where it has none."""
        cdef Buffer out
        cdef int number = ROOT_COLUMNS[name]
        cdef Py_ssize_t row
        cdef list found = [None] * (stop - start)
        self._check(start, stop)
        memset(&out, 0, sizeof(Buffer))
        try:
            for row in range(start, min(stop, <Py_ssize_t> self.columns[number].count)):
                if is_stated(self.columns, number, row):
                    out.size = 0
                    if not write_value(self.columns, number, row, &out):
                        raise MemoryError
                    found[row - start] = PyBytes_FromStringAndSize(<const char*> out.data, out.size)
            return found
        finally:
            free(out.data)

    def arrow(self, str name, Py_ssize_t start, Py_ssize_t stop):
        """The values of a column as (length, number of nulls, buffers, children), by Arrow's columnar format.

        Moments are in microseconds, words are text. A URL that states nothing in a nested column has a null. Where all
        values are null there are no buffers.
        """
        self._check(start, stop)
        return self._arrow(ROOT_COLUMNS[name], start, stop)

    cdef tuple _arrow(self, int number, size_t start, size_t stop):
        cdef ColumnRule* rule = &COLUMN_RULES[number]
        cdef Column* column = &self.columns[number]
        cdef size_t length = stop - start, nulls = 0, index, filled = 0, first = 0, last = 0
        cdef bint is_nested = FIRST_NESTED_COLUMN <= number < FIRST_NESTED_COLUMN + NESTED_COLUMNS
        cdef bytes bitmap = bytes((length + 7) // 8)
        cdef unsigned char* bits = <unsigned char*> PyBytes_AS_STRING(bitmap)
        cdef list children = []
        for index in range(length):
            if is_stated(self.columns, number, start + index) if is_nested else (
                rule.kind == LIST_COLUMN or has_value(column, rule.kind, start + index)
            ):
                bits[index // 8] |= 1 << index % 8
            else:
                nulls += 1
        if nulls == length:
            return length, nulls, [], []
        valid = bitmap if nulls else None
        if rule.kind == OBJECT_COLUMN:
            children = [
                self._arrow(child, start, stop) for child in range(rule.first_child, rule.first_child + rule.children)
            ]
            return length, nulls, [valid], children
        filled = min(stop, column.count) - start if start < column.count else 0
        if rule.kind == TEXT_COLUMN or rule.kind == LIST_COLUMN:
            if filled:
                first, last = list_start(column, start), list_end(column, start + filled - 1)
            ends = self._arrow_ends(column, start, filled, length)
            if rule.kind == LIST_COLUMN:
                return length, nulls, [valid, ends], [self._arrow(rule.first_child, first, last)]
            data = PyBytes_FromStringAndSize(<const char*> column.values.data + first, last - first) if filled else b""
            return length, nulls, [valid, ends, data], []
        if rule.kind == WORD_COLUMN:
            return self._arrow_words(number, start, filled, length, nulls, valid)
        if rule.kind == BOOLEAN_COLUMN:
            values = bytes((length + 7) // 8)
            bits = <unsigned char*> PyBytes_AS_STRING(values)
            for index in range(filled):
                bits[index // 8] |= column.values.data[start + index] << index % 8
        else:
            values = bytes(8 * length)
            if filled:
                memcpy(PyBytes_AS_STRING(values), column.values.data + 8 * start, 8 * filled)
        return length, nulls, [valid, values], []

    cdef bytes _arrow_ends(self, Column* column, size_t start, size_t filled, size_t length):
        """Offsets from 0 on."""
        cdef bytes data = bytes(4 * (length + 1))
        cdef unsigned int* ends = <unsigned int*> PyBytes_AS_STRING(data)
        cdef size_t first = list_start(column, start) if filled else 0, index
        for index in range(length):
            ends[index + 1] = <unsigned int> (list_end(column, start + index) - first) if index < filled else ends[index]
        return data

    cdef tuple _arrow_words(self, int number, size_t start, size_t filled, size_t length, size_t nulls, valid):
        cdef Buffer out
        cdef Column* column = &self.columns[number]
        cdef bytes data = bytes(4 * (length + 1))
        cdef unsigned int* ends = <unsigned int*> PyBytes_AS_STRING(data)
        cdef size_t index
        memset(&out, 0, sizeof(Buffer))
        try:
            for index in range(length):
                if index < filled and column.valid.data[start + index] and not write_literal(
                    &out, COLUMN_RULES[number].words[column.values.data[start + index]]
                ):
                    raise MemoryError
                ends[index + 1] = <unsigned int> out.size
            return length, nulls, [valid, data, PyBytes_FromStringAndSize(<const char*> out.data, out.size)], []
        finally:
            free(out.data)

    cdef int _check(self, Py_ssize_t start, Py_ssize_t stop) except -1:
        if not 0 <= start <= stop <= <Py_ssize_t> self.columns[ROOT].count:
            raise IndexError(f"URLs {start} to {stop} of {self.columns[ROOT].count}")
        return 0

    cdef object _value(self, int number, size_t index):
        """The value of an item, as in a record."""
        cdef ColumnRule* rule = &COLUMN_RULES[number]
        cdef Column* column = &self.columns[number]
        cdef int child
        cdef size_t at
        if rule.kind == LIST_COLUMN:
            if not has_value(column, LIST_COLUMN, index):
                return ()
            return tuple([
                self._value(rule.first_child, at) for at in range(list_start(column, index), list_end(column, index))
            ])
        if not has_value(column, rule.kind, index):
            return None
        if rule.kind == TEXT_COLUMN:
            return text_at(column, index)
        if rule.kind == OBJECT_COLUMN:
            values = [self._value(child, index) for child in range(rule.first_child, rule.first_child + rule.children)]
            made = COLUMN_TYPES[number]
            return dict(zip([each.name for each in made.children], values)) if made.make is dict else made.make(*values)
        if rule.kind == WORD_COLUMN:
            return COLUMN_TYPES[number].words[column.values.data[index]]
        if rule.kind == MOMENT_COLUMN:
            return as_datetime((<long long*> column.values.data)[index])
        if rule.kind == BOOLEAN_COLUMN:
            return bool(column.values.data[index])
        if rule.kind == WHOLE_COLUMN:
            return (<long long*> column.values.data)[index]
        return (<double*> column.values.data)[index]

    # --- values of records ---

    cdef int _put(self, int number, size_t index, object value) except -1:
        """The value of an item, as in a record; a null is not stored."""
        cdef ColumnRule* rule = &COLUMN_RULES[number]
        cdef Column* column = &self.columns[number]
        cdef size_t item
        cdef int child
        cdef bytes text
        cdef long long whole
        cdef double decimal
        cdef bint is_done = True
        if value is None or (value is False and number <= COLUMN_RULES[ROOT].children):  # a flag that is not set
            return 0
        if rule.kind == TEXT_COLUMN:
            text = value.encode()
            is_done = put_text(column, index, <Bytes> PyBytes_AS_STRING(text), PyBytes_GET_SIZE(text))
        elif rule.kind == LIST_COLUMN:
            for each in value:
                is_done = is_done and add_item(column, index, &item)
                if is_done:
                    self._put(rule.first_child, item, each)
        elif rule.kind == OBJECT_COLUMN:
            is_done = put_object(column, index)
            get = value.get if isinstance(value, dict) else partial(getattr, value)
            for child in range(rule.first_child, rule.first_child + rule.children):
                self._put(child, index, get(COLUMN_TYPES[child].name))
        elif rule.kind == WORD_COLUMN:
            is_done = put_byte(column, WORD_COLUMN, index, COLUMN_TYPES[number].words.index(value))
        elif rule.kind == BOOLEAN_COLUMN:
            is_done = put_byte(column, BOOLEAN_COLUMN, index, bool(value))
        elif rule.kind == DECIMAL_COLUMN:
            decimal = value
            is_done = put_number(column, DECIMAL_COLUMN, index, &decimal)
        else:
            whole = micros(value) if rule.kind == MOMENT_COLUMN else value
            is_done = put_number(column, rule.kind, index, &whole)
        if not is_done:
            raise MemoryError
        return 0

    # --- in memory, and in a file ---

    def __sizeof__(self):
        cdef size_t size = sizeof(NativeColumns)
        cdef Column* column
        cdef int number
        for number in range(MAX_COLUMNS):
            column = &self.columns[number]
            size += column.values.capacity + column.ends.capacity + column.valid.capacity
        return size

    def __reduce__(self):
        cdef Column* column
        cdef list columns = []
        cdef int number
        for number in range(len(COLUMN_TYPES)):
            column = &self.columns[number]
            columns.append((column.count, as_bytes(&column.values), as_bytes(&column.ends), as_bytes(&column.valid)))
        return stored_columns, (columns, self.problems)


def stored_columns(columns, problems):
    """The NativeColumns of what __reduce__() returned."""
    cdef NativeColumns store = NativeColumns()
    cdef Column* column
    for number, (count, values, ends, valid) in enumerate(columns):
        column = &store.columns[<int> number]
        column.count = count
        if not (
            write_bytes(&column.values, PyBytes_AS_STRING(values), PyBytes_GET_SIZE(values))
            and write_bytes(&column.ends, PyBytes_AS_STRING(ends), PyBytes_GET_SIZE(ends))
            and write_bytes(&column.valid, PyBytes_AS_STRING(valid), PyBytes_GET_SIZE(valid))
        ):
            raise MemoryError
    store.problems = problems
    return store


cdef bytes as_bytes(Buffer* buffer):
    return PyBytes_FromStringAndSize(<const char*> buffer.data, buffer.size)


cdef str text_at(Column* column, size_t index):
    cdef size_t start = list_start(column, index), stop = list_end(column, index)
    return (<const char*> column.values.data)[start:stop].decode("utf-8")


cdef inline long long floor_of(long long number, long long unit) noexcept nogil:
    """The floor of number / unit: C rounds towards zero."""
    return number // unit - (number % unit < 0)
