# The values of a state's rows, as state/rows.py describes them.

# --- BLAKE2b (RFC 7693), without a key -------------------------------------------------------------------------------

cdef enum:
    BLAKE_BLOCK = 128
    BLAKE_ROUNDS = 12

cdef unsigned long long BLAKE_START[8]
cdef unsigned char BLAKE_ORDER[BLAKE_ROUNDS][16]  # of the words of a block, in each round


def _fill_blake():
    cdef int at, place
    for at, number in enumerate((
        0x6A09E667F3BCC908, 0xBB67AE8584CAA73B, 0x3C6EF372FE94F82B, 0xA54FF53A5F1D36F1,
        0x510E527FADE682D1, 0x9B05688C2B3E6C1F, 0x1F83D9ABFB41BD6B, 0x5BE0CD19137E2179,
    )):
        BLAKE_START[at] = number
    orders = (
        b"0123456789abcdef", b"ea489fd61c02b753", b"b8c052fdae367194", b"7931dcbe265a40f8", b"905724afe1bc683d",
        b"2c6a0b834d75fe19", b"c51fed4a0763928b", b"db7ec13950f4862a", b"6fe9b308c2d714a5", b"a2847615fb9e3cd0",
    )
    for at in range(BLAKE_ROUNDS):
        for place in range(16):
            BLAKE_ORDER[at][place] = b"0123456789abcdef".index(orders[at % len(orders)][place])


_fill_blake()


cdef inline unsigned long long little_endian(Bytes p) noexcept nogil:
    cdef unsigned long long number = 0
    cdef int at
    for at in range(8):
        number |= <unsigned long long> p[at] << 8 * at
    return number


cdef inline unsigned long long rotated(unsigned long long number, int bits) noexcept nogil:
    return number >> bits | number << (64 - bits)


cdef inline void mix(
    unsigned long long* v, int a, int b, int c, int d, unsigned long long x, unsigned long long y
) noexcept nogil:
    v[a] += v[b] + x
    v[d] = rotated(v[d] ^ v[a], 32)
    v[c] += v[d]
    v[b] = rotated(v[b] ^ v[c], 24)
    v[a] += v[b] + y
    v[d] = rotated(v[d] ^ v[a], 16)
    v[c] += v[d]
    v[b] = rotated(v[b] ^ v[c], 63)


cdef void compress_block(unsigned long long* state, Bytes block, unsigned long long count, bint is_last) noexcept nogil:
    """Adds a block to the state; `count` are the bytes so far, this block's included."""
    cdef unsigned long long v[16]
    cdef unsigned long long words[16]
    cdef unsigned char* order
    cdef int at
    for at in range(16):
        words[at] = little_endian(block + 8 * at)
    for at in range(8):
        v[at] = state[at]
        v[8 + at] = BLAKE_START[at]
    v[12] ^= count
    if is_last:
        v[14] = ~v[14]
    for at in range(BLAKE_ROUNDS):
        order = BLAKE_ORDER[at]
        mix(v, 0, 4, 8, 12, words[order[0]], words[order[1]])
        mix(v, 1, 5, 9, 13, words[order[2]], words[order[3]])
        mix(v, 2, 6, 10, 14, words[order[4]], words[order[5]])
        mix(v, 3, 7, 11, 15, words[order[6]], words[order[7]])
        mix(v, 0, 5, 10, 15, words[order[8]], words[order[9]])
        mix(v, 1, 6, 11, 12, words[order[10]], words[order[11]])
        mix(v, 2, 7, 8, 13, words[order[12]], words[order[13]])
        mix(v, 3, 4, 9, 14, words[order[14]], words[order[15]])
    for at in range(8):
        state[at] ^= v[at] ^ v[8 + at]


cdef unsigned long long blake_word(Bytes data, size_t size, int digest_size, Bytes salt) noexcept nogil:
    """The first 8 bytes of a digest, as a little-endian number; `salt` has 16 bytes."""
    cdef unsigned long long state[8]
    cdef unsigned char block[BLAKE_BLOCK]
    cdef size_t at = 0
    memcpy(state, BLAKE_START, sizeof(state))
    state[0] ^= 0x01010000 ^ digest_size
    state[4] ^= little_endian(salt)
    state[5] ^= little_endian(salt + 8)
    while size - at > BLAKE_BLOCK:
        compress_block(state, data + at, at + BLAKE_BLOCK, False)
        at += BLAKE_BLOCK
    memset(block, 0, BLAKE_BLOCK)
    if size > at:  # of no bytes the address may be NULL
        memcpy(block, data + at, size - at)
    compress_block(state, block, size, True)
    return state[0]


# --- values ----------------------------------------------------------------------------------------------------------

cdef enum:
    ROW_SCALE = 8192  # these three as in rows.py
    CHANGEFREQ_CODES = 8
    PRIORITY_CODES = 102
    KEY_BYTES = 8
    DIGEST_BYTES = 6
    DIGEST_CHARACTERS = 9  # its digit, and base64

cdef const char* BASE64 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
cdef unsigned char NO_SALT[16]
memset(NO_SALT, 0, sizeof(NO_SALT))
# The nested columns, and the digits that stand for them, lowest first.
cdef int DIGIT_COLUMNS[MAX_WORDS]
cdef char DIGITS[MAX_WORDS]


def _fill_digits():
    codes = {extension.state_code: name for name, extension in EXTENSIONS.items()} | {EXTRAS_STATE_CODE: "extras"}
    for at, code in enumerate(sorted(codes)):
        DIGITS[at], DIGIT_COLUMNS[at] = ord(str(code)), ROOT_COLUMNS[codes[code]]


_fill_digits()


cdef inline unsigned long long reversed_bytes(unsigned long long number) noexcept nogil:
    cdef unsigned long long reverse = 0
    cdef int at
    for at in range(8):
        reverse = reverse << 8 | (number >> 8 * at & 0xFF)
    return reverse


cdef bint pack_stated(Column* columns, size_t row, long long* packed) noexcept nogil:
    """As pack_stated() of rows.py; False where the value is no integer."""
    cdef Column* dates = &columns[LASTMOD_COLUMN]
    cdef Column* precisions = &columns[PRECISION_COLUMN]
    cdef Column* changefreqs = &columns[CHANGEFREQ_COLUMN]
    cdef Column* priorities = &columns[PRIORITY_COLUMN]
    cdef bint is_dated = has_value(dates, MOMENT_COLUMN, row)
    cdef long long lastmod = 0, unit = MICROSECONDS, code = 0, hundredths
    cdef double priority
    if is_dated != has_value(precisions, WORD_COLUMN, row):
        return False
    if is_dated:
        lastmod = (<long long*> dates.values.data)[row]
        code = 1 + precisions.values.data[row]
        if code == SUBSECOND:
            unit = 1_000
            if lastmod % unit:
                return False
        lastmod = floor_of(lastmod, unit)
    code *= CHANGEFREQ_CODES
    if has_value(changefreqs, WORD_COLUMN, row):
        code += 1 + changefreqs.values.data[row]
    code *= PRIORITY_CODES
    if has_value(priorities, DECIMAL_COLUMN, row):
        priority = (<double*> priorities.values.data)[row]
        if not 0 <= priority <= 1:
            return False
        hundredths = <long long> (priority * 100 + 0.5)
        if hundredths / <double> 100 != priority:
            return False
        code += 1 + hundredths
    packed[0] = lastmod * ROW_SCALE + code
    return True


cdef int write_digests(Column* columns, size_t row, Buffer* scratch, char* to) noexcept nogil:
    """The digit and the digest of each nested value. Returns the size of all, -1 where there is no memory."""
    cdef char* start = to
    cdef unsigned long long digest
    cdef unsigned int part
    cdef int at
    for at in range(NESTED_COLUMNS):
        if not is_stated(columns, DIGIT_COLUMNS[at], row):
            continue
        scratch.size = 0
        if not write_value(columns, DIGIT_COLUMNS[at], row, scratch):
            return -1
        digest = reversed_bytes(blake_word(scratch.data, scratch.size, DIGEST_BYTES, NO_SALT))
        to[0] = DIGITS[at]
        to += 1
        for part in range(8):
            to[part] = BASE64[digest >> (58 - 6 * part) & 63]
        to += 8
    return to - start


def row_columns(NativeColumns urls, Py_ssize_t start, Py_ssize_t stop, bytes secret):
    """Keys, stated and nested values of the rows of URLs, as lists.

    A stated value that is no integer is None. The nested values are None where no URL has any.
    """
    cdef Column* locs = &urls.columns[LOC_COLUMN]
    cdef Bytes salt = <Bytes> PyBytes_AS_STRING(secret)
    cdef char digests[DIGEST_CHARACTERS * MAX_WORDS]
    cdef Buffer scratch
    cdef Py_ssize_t row
    cdef size_t first
    cdef long long packed
    cdef int size
    cdef bint has_nested = False
    cdef list keys = [], stated = [], nested = []
    urls._check(start, stop)
    if PyBytes_GET_SIZE(secret) != 16:
        raise ValueError(f"a secret has 16 bytes, not {len(secret)}")
    memset(&scratch, 0, sizeof(Buffer))
    try:
        for row in range(start, stop):
            first = list_start(locs, row)
            keys.append(<long long> reversed_bytes(
                blake_word(locs.values.data + first, list_end(locs, row) - first, KEY_BYTES, salt)
            ))
            stated.append(packed if pack_stated(urls.columns, row, &packed) else None)
            size = write_digests(urls.columns, row, &scratch, digests)
            if size < 0:
                raise MemoryError
            has_nested = has_nested or size > 0
            nested.append(digests[:size].decode("ascii") if size else None)
    finally:
        free(scratch.data)
    return keys, stated, nested if has_nested else None


# --- comparison ------------------------------------------------------------------------------------------------------

def differences(list keys, list stated, list nested, list stored_keys, list stored_stated, list stored_nested):
    """As StoredRows.differences() of rows.py; both `nested` may be None."""
    cdef Py_ssize_t count = len(stored_keys), known = 0, at, index
    cdef size_t mask = 1, place
    cdef long long key
    cdef list differ = [True] * len(keys)
    cdef long long* numbers
    cdef int* table  # places that keys determine, as they are digests -> index from 1
    while mask < 2 * <size_t> count:
        mask = 2 * mask + 1
    numbers = <long long*> realloc(NULL, (count + 1) * sizeof(long long))
    table = <int*> realloc(NULL, (mask + 1) * sizeof(int))
    try:
        if numbers == NULL or table == NULL:
            raise MemoryError
        memset(table, 0, (mask + 1) * sizeof(int))
        for at in range(count):
            numbers[at] = stored_keys[at]
            place = <size_t> numbers[at] & mask
            while table[place]:
                place = (place + 1) & mask
            table[place] = <int> at + 1
        for at in range(len(keys)):
            key = keys[at]
            place = <size_t> key & mask
            while table[place] and numbers[table[place] - 1] != key:
                place = (place + 1) & mask
            if table[place]:
                index = table[place] - 1
                known += 1
                differ[at] = stated[at] != stored_stated[index] or (
                    (nested is not None or stored_nested is not None)
                    and (nested[at] if nested is not None else None)
                    != (stored_nested[index] if stored_nested is not None else None)
                )
        return differ, known
    finally:
        free(numbers)
        free(table)


# --- order -----------------------------------------------------------------------------------------------------------

# A key, and the index of its URL.
cdef struct KeyPlace:
    long long key
    Py_ssize_t index


cdef int by_key(const void* one, const void* other) noexcept nogil:
    cdef long long first = (<KeyPlace*> one).key, second = (<KeyPlace*> other).key
    return (first > second) - (first < second)


def common_prefix(NativeColumns urls, Py_ssize_t start, Py_ssize_t stop):
    """What the locs of URLs begin with, of which there is one at least."""
    cdef Column* locs = &urls.columns[LOC_COLUMN]
    cdef Bytes first
    cdef Bytes other
    cdef size_t size, at
    cdef Py_ssize_t row
    urls._check(start, stop)
    first = locs.values.data + list_start(locs, start)
    size = list_end(locs, start) - list_start(locs, start)
    for row in range(start + 1, stop):
        other = locs.values.data + list_start(locs, row)
        size = min(size, <size_t> (list_end(locs, row) - list_start(locs, row)))
        at = 0
        while at < size and first[at] == other[at]:
            at += 1
        size = at
    while size and first[size - 1] >= 0x80:  # not within a character
        size -= 1
    return (<const char*> first)[:size].decode("utf-8")


def sorted_rows(NativeColumns urls, Py_ssize_t start, list keys, list stated, list nested, Py_ssize_t prefix):
    """As Rows.sorted() of rows.py: for URLs from `start` on, locs without the first `prefix` bytes."""
    cdef Column* locs = &urls.columns[LOC_COLUMN]
    cdef Py_ssize_t count = len(keys), at, index
    cdef KeyPlace* places
    cdef list values = []
    cdef size_t loc
    urls._check(start, start + count)
    if len(stated) != count or (nested is not None and len(nested) != count):
        raise ValueError(f"not one value for each of {count} keys")
    places = <KeyPlace*> realloc(NULL, max(count, 1) * sizeof(KeyPlace))
    if places == NULL:
        raise MemoryError
    try:
        for at in range(count):
            places[at] = KeyPlace(keys[at], at)
        with nogil:
            qsort(places, count, sizeof(KeyPlace), by_key)
        for at in range(count):
            index = places[at].index
            loc = list_start(locs, start + index) + prefix
            values.append(keys[index])
            values.append(stated[index])
            if nested is not None:
                values.append(nested[index])
            values.append((<const char*> locs.values.data)[loc:list_end(locs, start + index)].decode("utf-8"))
        return values
    finally:
        free(places)
