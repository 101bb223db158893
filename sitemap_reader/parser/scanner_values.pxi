# The values that nearly all entries have: URLs, dates, numbers and words, each recognised from its bytes.
#
# In: the bytes [p, end) of a value without white space around it, valid UTF-8. Out: 1 and the value, or 0 for every
# other shape: then the Normaliser decides (normalise/). A value that is recognised is the one that the Normaliser would
# give, without a Problem. No function reads at or behind `end`, and none allocates memory but through reserve().

ctypedef const unsigned char* Bytes

# --- classes of bytes ------------------------------------------------------------------------------------------------

cdef enum:
    IS_TEXT = 1  # in the text of an element: printable ASCII without `<`, `&`, `]`; and tab
    IS_ATTRIBUTE = 2  # in an attribute: printable ASCII without `<`, `&` and quotes
    IS_PATH = 4  # in the path of a canonical URL; `.`, `:`, `%` and non-ASCII are checked apart
    IS_HOST = 8  # in a host name, in either case
    IS_HEX = 16
    IS_SPACE = 32  # XML white space
    IS_NAME = 64  # in a name without a prefix
    IS_CDATA = 128  # in a CDATA section: printable ASCII without `<` and `]`; and tab
    IS_QUERY = 256  # in the query of one; `:`, `%` and non-ASCII are checked apart
    IS_ESCAPED = 512  # in JSON

cdef unsigned short CLASSES[256]


def _fill_classes():
    for byte in range(256):
        character = chr(byte)
        is_printable = 0x20 <= byte < 0x80
        is_word = character.isascii() and character.isalnum()
        CLASSES[byte] = (
            IS_TEXT * ((is_printable and character not in "<&]") or character == "\t")
            | IS_ATTRIBUTE * (is_printable and character not in "<&\"'")
            | IS_PATH * (is_word or character in "-_~!$'()*+,;=@/&")
            | IS_QUERY * (is_word or character in "-_~!$'()*+,;=@/&?.")
            | IS_HOST * (is_word or character in "_-.")
            | IS_HEX * (character in "0123456789abcdefABCDEF")
            | IS_SPACE * (character in " \t\r\n")
            | IS_NAME * (is_word or character in "_-.")
            | IS_CDATA * ((is_printable and character not in "<]") or character == "\t")
            | IS_ESCAPED * (byte < 0x20 or character in '"\\')
        )


_fill_classes()


cdef enum:
    MAX_ENTITY_BYTES = 8
    MAX_ENTITIES = 256

cdef struct HtmlEntity:
    char name[MAX_ENTITY_BYTES]  # padded with NULs
    unsigned int character

cdef HtmlEntity ENTITIES[MAX_ENTITIES]  # those of HTML 4, by name
cdef int ENTITY_COUNT = 0


def _fill_entities():
    global ENTITY_COUNT
    from html.entities import html5, name2codepoint

    for name in sorted(name2codepoint.keys() - {"amp", "lt", "gt", "quot"}):
        padded = name.encode().ljust(MAX_ENTITY_BYTES, b"\0")
        memcpy(ENTITIES[ENTITY_COUNT].name, <char*> padded, MAX_ENTITY_BYTES)
        ENTITIES[ENTITY_COUNT].character = ord(html5[name + ";"])
        ENTITY_COUNT += 1


_fill_entities()


cdef bint read_html_entity(Bytes p, Bytes end, unsigned int* character) noexcept nogil:
    """The character of a name between `&` and `;` that HTML 4 has, and XML has not."""
    cdef char name[MAX_ENTITY_BYTES]
    cdef int first = 0, last = ENTITY_COUNT, middle, order
    if p == end or end - p > MAX_ENTITY_BYTES:
        return False
    memset(name, 0, MAX_ENTITY_BYTES)
    memcpy(name, p, end - p)
    while first < last:
        middle = (first + last) // 2
        order = memcmp(name, ENTITIES[middle].name, MAX_ENTITY_BYTES)
        if order == 0:
            character[0] = ENTITIES[middle].character
            return True
        if order < 0:
            last = middle
        else:
            first = middle + 1
    return False


cdef inline bint is_digit(unsigned char c) noexcept nogil:
    return c"0" <= c <= c"9"


cdef inline unsigned char lower(unsigned char c) noexcept nogil:
    return c + 32 if c"A" <= c <= c"Z" else c


cdef inline bint same_bytes(Bytes p, Bytes other, Py_ssize_t size) noexcept nogil:
    """memcmp() == 0, without a call: names are short."""
    cdef unsigned long long eight, eight_others
    while size >= 8:
        memcpy(&eight, p, 8)
        memcpy(&eight_others, other, 8)
        if eight != eight_others:
            return False
        p += 8
        other += 8
        size -= 8
    while size > 0:
        size -= 1
        if p[size] != other[size]:
            return False
    return True


cdef inline bint is_ascii(Bytes p, Bytes end) noexcept nogil:
    cdef unsigned long long eight
    while end - p >= 8:
        memcpy(&eight, p, 8)
        if eight & 0x8080808080808080ULL:
            return False
        p += 8
    while p < end:
        if p[0] >= 0x80:
            return False
        p += 1
    return True


# --- memory ----------------------------------------------------------------------------------------------------------

cdef struct Buffer:
    unsigned char* data
    size_t size
    size_t capacity


cdef inline bint reserve(Buffer* buffer, size_t size) noexcept nogil:
    """Makes room for `size` more bytes; False where there is no memory."""
    cdef size_t capacity
    cdef void* data
    if buffer.size + size <= buffer.capacity:
        return True
    capacity = 2 * buffer.capacity + size + 1024
    data = realloc(buffer.data, capacity)
    if data == NULL:
        return False
    buffer.data = <unsigned char*> data
    buffer.capacity = capacity
    return True


# --- characters ------------------------------------------------------------------------------------------------------

cdef inline int character_size(Bytes p, Bytes end) noexcept nogil:
    """The bytes of the character beyond ASCII at `p`; 0 if it is cut off, -1 if it is invalid or expat must see it.

    The latter are U+FFFE and U+FFFF, which XML forbids.
    """
    cdef unsigned char first = p[0]
    cdef int size = 2 if first < 0xE0 else 3 if first < 0xF0 else 4
    cdef int at
    if first < 0xC2 or first > 0xF4:
        return -1
    for at in range(1, size):
        if p + at >= end:
            return 0
        if p[at] & 0xC0 != 0x80:
            return -1
    if size == 3:
        if (first == 0xE0 and p[1] < 0xA0) or (first == 0xED and p[1] >= 0xA0):  # overlong; a surrogate
            return -1
        if first == 0xEF and p[1] == 0xBF and p[2] >= 0xBE:
            return -1
    elif size == 4:
        if (first == 0xF0 and p[1] < 0x90) or (first == 0xF4 and p[1] >= 0x90):
            return -1
    return size


cdef inline bint is_wide_space(Bytes p, Bytes end) noexcept nogil:
    """Whether a white-space character beyond ASCII, as str.strip() knows them, stands at `p`."""
    cdef Py_ssize_t size = end - p
    if size == 2:
        return p[0] == 0xC2 and (p[1] == 0x85 or p[1] == 0xA0)
    if size != 3:
        return False
    if p[0] == 0xE2:
        return (p[1] == 0x80 and (p[2] <= 0x8A or p[2] == 0xA8 or p[2] == 0xA9 or p[2] == 0xAF)) or (
            p[1] == 0x81 and p[2] == 0x9F
        )
    return (p[0] == 0xE1 and p[1] == 0x9A and p[2] == 0x80) or (p[0] == 0xE3 and p[1] == 0x80 and p[2] == 0x80)


cdef inline void strip(Bytes* start, Bytes* end) noexcept nogil:
    """Moves both ends past white space, as str.strip() does."""
    cdef Bytes p = start[0]
    cdef Bytes stop = end[0]
    cdef Bytes last
    while p < stop:
        if CLASSES[p[0]] & IS_SPACE:
            p += 1
        elif p[0] == 0xC2 and stop - p >= 2 and is_wide_space(p, p + 2):
            p += 2
        elif p[0] >= 0xE1 and stop - p >= 3 and is_wide_space(p, p + 3):
            p += 3
        else:
            break
    while p < stop:
        last = stop - 1
        if CLASSES[last[0]] & IS_SPACE:
            stop -= 1
        elif last[0] >= 0x80 and stop - p >= 2 and is_wide_space(stop - 2, stop):
            stop -= 2
        elif last[0] >= 0x80 and stop - p >= 3 and is_wide_space(stop - 3, stop):
            stop -= 3
        else:
            break
    start[0] = p
    end[0] = stop


# --- URLs: those of clean_url() (normalise/urls.py) that need no note ------------------------------------------------

cdef enum:
    MAX_URL_BYTES = 2048
    MAX_HOST_BYTES = 63  # so that no label is longer

cdef struct Url:
    bint is_changed  # its canonical form is in the buffer, else it is the text itself
    bint has_dot_escape  # `%2e`: it may hold a dot segment in disguise, which decides about its scope


cdef bint is_dot_segment(Bytes p, Bytes end) noexcept nogil:
    """Whether the segment of a path that begins with the `.` at `p` is `.` or `..`."""
    p += 1
    if p < end and p[0] == c".":
        p += 1
    return p == end or p[0] == c"/" or p[0] == c"?"


cdef Bytes port_end(Bytes p, Bytes end) noexcept nogil:
    """The end of the port behind `p`; NULL unless it is 1 to 64999, without leading zeros, and no default."""
    cdef Bytes start = p
    cdef int number = 0
    while p < end and is_digit(p[0]) and p - start < 6:
        number = 10 * number + p[0] - c"0"
        p += 1
    if p == start or p - start > 5 or start[0] == c"0" or number == 80 or number == 443 or number > 64999:
        return NULL
    return p


cdef bint ends_in_no_host(Bytes p, Bytes end) noexcept nogil:
    """Whether a host ends like one of _unset_host() or _second_url() (normalise/urls.py), or may do so."""
    if end - p > 1 and (end - 1)[0] == c".":
        end -= 1
    cdef Py_ssize_t size = end - p
    cdef unsigned char last = lower((end - 1)[0])
    cdef int at
    if last == c"m" or last == c"g" or last == c"t":  # .com, .org, .net
        return False
    for at in range(NO_HOSTS):
        if size >= NO_HOST_SIZES[at] and is_word(end - NO_HOST_SIZES[at], end, NO_HOST[at], NO_HOST_SIZES[at]):
            return True
    return False


cdef enum:
    NO_HOSTS = 8

cdef const char* NO_HOST[NO_HOSTS]
NO_HOST[:] = [b"http", b"https", b"undefined", b"null", b"none", b"false", b"nil", b"nan"]
cdef Py_ssize_t[NO_HOSTS] NO_HOST_SIZES = [4, 5, 9, 4, 4, 5, 3, 3]


cdef bint holds_dot(Bytes p, Bytes end) noexcept nogil:
    """Whether a second host may stand there, up to the next `/`."""
    while p < end and p[0] != c"/":
        if p[0] == c".":
            return True
        p += 1
    return False


cdef bint may_escape_template(Bytes p, Bytes end) noexcept nogil:
    """Whether the escape at `p` may be of a template (_ESCAPED_TEMPLATE in normalise/urls.py): a `{`, `<` or `[o`."""
    cdef unsigned char last = lower(p[2])
    if p[1] == c"5":
        return last == c"b" and end - p > 3 and p[3] == c"o"
    return (p[1] == c"7" and last == c"b") or (p[1] == c"3" and last == c"c")


cdef bint is_invisible(Bytes start, Bytes end) noexcept nogil:
    """Whether the text may end in a character that clean_url() strips (INVISIBLE in normalise/urls.py)."""
    cdef Bytes p = end - 2
    if p >= start and ((p[0] == 0xC2 and p[1] == 0xAD) or (p[0] == 0xD8 and p[1] == 0x9C)):
        return True
    p -= 1
    if p < start:
        return False
    if p[0] == 0xE2:
        return (p[1] == 0x80 and (p[2] == 0x8B or p[2] == 0x8E or p[2] == 0x8F or 0xAA <= p[2] <= 0xAE)) or (
            p[1] == 0x81 and 0xA0 <= p[2] <= 0xA9
        )
    return (p[0] == 0xEF and p[1] == 0xBB and p[2] == 0xBF) or (p[0] == 0xE1 and p[1] == 0xA0 and p[2] == 0x8E)


cdef bint read_url(Bytes p, Bytes end, Buffer* out, Url* url) noexcept nogil:
    """A URL; what its canonical form differs in is appended to `out`, which has room for 3 * (end - p) + 2 bytes."""
    cdef Bytes start = p
    cdef Bytes host
    cdef Bytes host_end
    cdef Bytes path
    cdef int allowed = IS_PATH
    cdef bint has_upper = False
    cdef bint is_wide = False
    cdef unsigned char c
    url.has_dot_escape = False
    # The scheme. The shortest URL is http://a, whose slash is missing.
    if end - p < 8 or end - p >= MAX_URL_BYTES or not is_word(p, p + 4, b"http", 4):
        return False
    p += 5 if lower(p[4]) == c"s" else 4
    if end - p < 4 or p[0] != c":" or p[1] != c"/" or p[2] != c"/":
        return False
    has_upper = (p - 1)[0] < c"a" or (p - 2)[0] < c"a" or (p - 3)[0] < c"a" or (p - 4)[0] < c"a" or start[0] < c"a"
    p += 3
    # The host, and a port.
    host = p
    if p[0] == c".":
        return False
    while p < end and CLASSES[p[0]] & IS_HOST:
        if p[0] == c".":
            if (p - 1)[0] == c".":
                return False
        elif p[0] != lower(p[0]):
            has_upper = True
        p += 1
    if p == host or p - host > MAX_HOST_BYTES or ends_in_no_host(host, p):
        return False
    host_end = p
    if p < end and p[0] == c":":
        p = port_end(p + 1, end)
        if p == NULL:
            return False
    # Path and query.
    path = p
    if p < end and p[0] != c"/" and p[0] != c"?":
        return False
    if end - p > 1 and p[1] == c"/" and (holds_dot(p + 2, end) or not holds_dot(host, host_end - 1)):
        return False
    while True:
        while p < end and CLASSES[p[0]] & allowed:
            p += 1
        if p == end:
            break
        c = p[0]
        if c == c"%":
            if end - p < 3 or not (CLASSES[p[1]] & IS_HEX and CLASSES[p[2]] & IS_HEX):
                return False
            if may_escape_template(p, end):
                return False
            url.has_dot_escape = url.has_dot_escape or (p[1] == c"2" and lower(p[2]) == c"e")
            p += 2
        elif c == c".":
            if (p - 1)[0] == c"/" and is_dot_segment(p, end):
                return False
        elif c == c":":
            if p + 1 < end and p[1] == c"/":  # another URL may begin before it
                return False
        elif c == c"?":
            allowed = IS_QUERY
        elif c >= 0x80:
            is_wide = True
        else:
            return False
        p += 1
    if is_wide and is_invisible(start, end):
        return False
    url.is_changed = has_upper or is_wide or path == end or path[0] != c"/"
    if url.is_changed:
        write_url(start, path, end, out)
    return True


cdef void write_url(Bytes p, Bytes path, Bytes end, Buffer* out) noexcept nogil:
    """Appends the canonical form: scheme and host in lower case, a path, and characters beyond ASCII escaped."""
    cdef unsigned char* to = out.data + out.size
    while p < path:
        to[0] = lower(p[0])
        to += 1
        p += 1
    if p == end or p[0] != c"/":
        to[0] = c"/"
        to += 1
    while p < end:
        if p[0] < 0x80:
            to[0] = p[0]
            to += 1
        else:
            to[0] = c"%"
            to[1] = HEX_DIGITS[p[0] >> 4]
            to[2] = HEX_DIGITS[p[0] & 15]
            to += 3
        p += 1
    out.size = to - out.data


cdef const char* HEX_DIGITS = b"0123456789ABCDEF"


# --- dates: the W3C ones of parse_date() (normalise/dates.py) --------------------------------------------------------

cdef enum Precision:
    NO_DATE
    YEAR
    MONTH
    DAY
    MINUTE
    SECOND
    SUBSECOND

cdef long long MICROSECONDS = 1_000_000
cdef long long DAY_SECONDS = 86_400


cdef inline long long days_from_civil(long long year, int month, int day) noexcept nogil:
    """The days from 1970-01-01 to a date of the Gregorian calendar (years begin in March)."""
    cdef long long shifted = year - (month <= 2)
    cdef long long era = shifted // 400
    cdef long long of_era = shifted - era * 400
    cdef long long of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468


cdef inline void civil_from_days(long long days, int* year, int* month, int* day) noexcept nogil:
    """The reverse of days_from_civil(), from the year 1 on."""
    cdef long long shifted = days + 719_468
    cdef long long era = shifted // 146_097
    cdef long long of_era = shifted - era * 146_097
    cdef long long years = (of_era - of_era // 1_460 + of_era // 36_524 - of_era // 146_096) // 365
    cdef long long of_year = of_era - (365 * years + years // 4 - years // 100)
    cdef long long shifted_month = (5 * of_year + 2) // 153
    day[0] = <int> (of_year - (153 * shifted_month + 2) // 5 + 1)
    month[0] = <int> (shifted_month + (3 if shifted_month < 10 else -9))
    year[0] = <int> (years + era * 400 + (month[0] <= 2))


cdef inline void split_moment(
    long long moment, int* year, int* month, int* day, int* seconds, int* fraction
) noexcept nogil:
    """The date of a moment, the seconds of its day, and the microseconds of its second."""
    cdef long long days = moment // (DAY_SECONDS * MICROSECONDS)
    cdef long long rest = moment - days * DAY_SECONDS * MICROSECONDS
    if rest < 0:  # before 1970: division is that of C
        days -= 1
        rest += DAY_SECONDS * MICROSECONDS
    civil_from_days(days, year, month, day)
    seconds[0] = <int> (rest // MICROSECONDS)
    fraction[0] = <int> (rest % MICROSECONDS)


cdef inline int two_digits(Bytes p) noexcept nogil:
    """The number of two digits; -1 where these are none."""
    return 10 * (p[0] - c"0") + p[1] - c"0" if is_digit(p[0]) and is_digit(p[1]) else -1


cdef bint is_calendar_day(int year, int month, int day) noexcept nogil:
    cdef int days
    if year < 1 or month < 1 or month > 12 or day < 1:
        return False
    if month == 2:
        days = 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    else:
        days = 31 - (month == 4 or month == 6 or month == 9 or month == 11)
    return day <= days


cdef inline bint read_w3c_date(Bytes p, Bytes end, long long* moment, unsigned char* precision) noexcept nogil:
    """The start of the period in microseconds since 1970-01-01T00:00Z, and what the text states; none before LAST_ZERO."""
    return read_any_w3c_date(p, end, moment, precision) and moment[0] > LAST_ZERO


cdef bint read_any_w3c_date(Bytes p, Bytes end, long long* moment, unsigned char* precision) noexcept nogil:
    cdef Py_ssize_t size = end - p
    cdef int year, month = 1, day = 1
    cdef int high, low
    if size < 4:
        return False
    high, low = two_digits(p), two_digits(p + 2)
    if high < 0 or low < 0:
        return False
    year = 100 * high + low
    precision[0] = YEAR
    if size >= 7 and p[4] == c"-":
        month = two_digits(p + 5)
        precision[0] = MONTH
        if size >= 10 and p[7] == c"-":
            day = two_digits(p + 8)
            precision[0] = DAY
    if not is_calendar_day(year, month, day):
        return False
    moment[0] = days_from_civil(year, month, day) * DAY_SECONDS * MICROSECONDS
    if size == 10 and precision[0] == DAY:
        return True
    if size > 10 and precision[0] == DAY and p[10] == c"T":
        return add_time(p + 11, end, moment, precision)
    return (size == 4 and precision[0] == YEAR) or (size == 7 and precision[0] == MONTH)


cdef bint add_time(Bytes p, Bytes end, long long* moment, unsigned char* precision) noexcept nogil:
    """Adds `hh:mm[:ss[.s+]]`, and the zone behind it, to the beginning of a day."""
    cdef int hour, minute, second = 0, digits = 0
    cdef long long fraction = 0
    cdef long long offset
    if end - p < 6:
        return False
    hour, minute = two_digits(p), two_digits(p + 3)
    if hour < 0 or hour > 23 or p[2] != c":" or minute < 0 or minute > 59:
        return False
    p += 5
    precision[0] = MINUTE
    if p[0] == c":":
        if end - p < 4:
            return False
        second = two_digits(p + 1)
        if second < 0 or second > 59:
            return False
        p += 3
        precision[0] = SECOND
        if p[0] == c".":
            p += 1
            precision[0] = SUBSECOND
            while p < end and is_digit(p[0]):
                if digits < 6:
                    fraction = 10 * fraction + p[0] - c"0"
                digits += 1
                p += 1
            if digits == 0:
                return False
            while digits < 6:
                fraction *= 10
                digits += 1
    if not zone_offset(p, end, &offset):
        return False
    moment[0] += (((hour * 60 + minute) * 60 + second) - offset) * MICROSECONDS + fraction
    return FIRST_MOMENT <= moment[0] <= LAST_MOMENT


cdef bint zone_offset(Bytes p, Bytes end, long long* seconds) noexcept nogil:
    """`Z`, or `+hh:mm` of at most 14 hours."""
    cdef int hours, minutes
    seconds[0] = 0
    if end - p == 1:
        return p[0] == c"Z"
    if end - p != 6 or (p[0] != c"+" and p[0] != c"-") or p[3] != c":":
        return False
    hours, minutes = two_digits(p + 1), two_digits(p + 4)
    if hours < 0 or hours > 14 or minutes < 0 or minutes > 59 or (hours == 14 and minutes > 0):
        return False
    seconds[0] = (hours * 60 + minutes) * 60
    if p[0] == c"-":
        seconds[0] = -seconds[0]
    return True


# The last moment that may be the zero of a clock for is_zero_of_clock() (normalise/dates.py), in any time zone.
cdef long long LAST_ZERO = (days_from_civil(1980, 1, 1) * DAY_SECONDS + 14 * 3_600) * MICROSECONDS
# datetime.min and datetime.max.
cdef long long FIRST_MOMENT = days_from_civil(1, 1, 1) * DAY_SECONDS * MICROSECONDS
cdef long long LAST_MOMENT = days_from_civil(10_000, 1, 1) * DAY_SECONDS * MICROSECONDS - 1


# --- dates of feeds: the RFC 822 ones of parse_date() that are valid there ---------------------------------------------

cdef const char* MONTHS = b"janfebmaraprmayjunjulaugsepoctnovdec"
cdef const char* WEEKDAYS = b"montuewedthufrisatsun"


cdef inline int index_of_three(Bytes p, const char* words, int count) noexcept nogil:
    """The number of the three letters at `p` among words of three letters; -1: they are none."""
    cdef int at
    for at in range(count):
        if is_word(p, p + 3, words + 3 * at, 3):
            return at
    return -1


cdef inline Bytes skip_blanks(Bytes p, Bytes end) noexcept nogil:
    while p < end and p[0] == c" ":
        p += 1
    return p


cdef bint read_rfc822_date(Bytes p, Bytes end, long long* moment, unsigned char* precision) noexcept nogil:
    """`[Mon, ]2 Jan 2006 15:04[:05] +0000`, with a name of a zone in place of the offset."""
    cdef int year, month, day, hour, minute, second = 0
    cdef long long offset
    # `2 Jan 06 15:04 Z`, the shortest, has 16 bytes. Each check of the size covers the reads up to the next one.
    if end - p < 16:
        return False
    if index_of_three(p, WEEKDAYS, 7) >= 0:
        p = skip_blanks(p + 3, end)
        if p == end or p[0] != c",":
            return False
        p = skip_blanks(p + 1, end)
    if end - p < 16 or not is_digit(p[0]):
        return False
    day = p[0] - c"0"
    p += 1
    if is_digit(p[0]):
        day = 10 * day + p[0] - c"0"
        p += 1
    if p[0] != c" ":
        return False
    p = skip_blanks(p, end)
    if end - p < 14:  # `Jan 06 15:04 Z`
        return False
    month = index_of_three(p, MONTHS, 12) + 1
    if month == 0 or p[3] != c" ":
        return False
    p = skip_blanks(p + 3, end)
    if end - p < 10:  # `06 15:04 Z`
        return False
    year = two_digits(p)
    if year < 0:
        return False
    if is_digit(p[2]):
        if two_digits(p + 2) < 0:
            return False
        year = 100 * year + two_digits(p + 2)
        p += 4
    else:
        year += 2000 if year < 50 else 1900
        p += 2
    if p[0] != c" ":
        return False
    p = skip_blanks(p, end)
    if end - p < 7:  # `15:04 Z`
        return False
    hour, minute = two_digits(p), two_digits(p + 3)
    if hour < 0 or hour > 23 or p[2] != c":" or minute < 0 or minute > 59:
        return False
    p += 5
    precision[0] = MINUTE
    if p[0] == c":":
        if end - p < 5:  # `:05 Z`
            return False
        second = two_digits(p + 1)
        if second < 0 or second > 59:
            return False
        p += 3
        precision[0] = SECOND
    if p[0] != c" " or not is_calendar_day(year, month, day):
        return False
    p = skip_blanks(p, end)
    if not rfc822_offset(p, end, &offset):
        return False
    moment[0] = days_from_civil(year, month, day) * DAY_SECONDS
    moment[0] = (moment[0] + (hour * 60 + minute) * 60 + second - offset) * MICROSECONDS
    return LAST_ZERO < moment[0] <= LAST_MOMENT


cdef bint rfc822_offset(Bytes p, Bytes end, long long* seconds) noexcept nogil:
    """`+hhmm` of at most 14 hours, or a name."""
    cdef int hours, minutes
    cdef int at
    seconds[0] = 0
    if end - p == 5 and (p[0] == c"+" or p[0] == c"-"):
        hours, minutes = two_digits(p + 1), two_digits(p + 3)
        if hours < 0 or hours > 14 or minutes < 0 or minutes > 59 or (hours == 14 and minutes > 0):
            return False
        seconds[0] = (hours * 60 + minutes) * 60
        if p[0] == c"-":
            seconds[0] = -seconds[0]
        return True
    if end - p != 3:
        return is_word(p, end, b"z", 1) or is_word(p, end, b"ut", 2)
    if is_word(p, end, b"gmt", 3) or is_word(p, end, b"utc", 3):
        return True
    at = index_of_three(p, b"edtestcdtcstmdtmstpdtpst", 8)
    seconds[0] = -3600 * (4 + (at + 1) // 2)
    return at >= 0


# --- changefreq, priority, numbers, yes and no -----------------------------------------------------------------------

cdef inline bint is_word(Bytes p, Bytes end, const char* word, Py_ssize_t size) noexcept nogil:
    """Whether the text is `word`, in any case."""
    cdef Py_ssize_t at
    if end - p != size:
        return False
    for at in range(size):
        if lower(p[at]) != <unsigned char> word[at]:
            return False
    return True


cdef bint read_changefreq(Bytes p, Bytes end, unsigned char* number) noexcept nogil:
    """The number of a changefreq in CHANGEFREQS, from 1."""
    cdef int at
    for at in range(7):
        if is_word(p, end, CHANGEFREQ_WORDS[at], CHANGEFREQ_SIZES[at]):
            number[0] = at + 1
            return True
    return False


cdef const char* CHANGEFREQ_WORDS[7]
CHANGEFREQ_WORDS[:] = [b"always", b"hourly", b"daily", b"weekly", b"monthly", b"yearly", b"never"]
cdef Py_ssize_t[7] CHANGEFREQ_SIZES = [6, 6, 5, 6, 7, 6, 5]


cdef enum:
    NO_PRIORITY = -1
    PRIORITY_SCALE = 10_000


cdef bint read_priority(Bytes p, Bytes end, short* priority) noexcept nogil:
    """A priority of up to four decimals, as ten-thousandths."""
    cdef int value, scale = PRIORITY_SCALE // 10
    if p == end or (p[0] != c"0" and p[0] != c"1"):
        return False
    value = PRIORITY_SCALE * (p[0] - c"0")
    p += 1
    if p < end:
        if p[0] != c"." or end - p < 2 or end - p > 5:
            return False
        p += 1
        while p < end:
            if not is_digit(p[0]):
                return False
            value += scale * (p[0] - c"0")
            scale //= 10
            p += 1
    if value > PRIORITY_SCALE:
        return False
    priority[0] = value
    return True


cdef enum:
    MAX_DIGITS = 15  # a number of so many decimal digits is exact in the 53 bits of a float


cdef bint read_number(Bytes p, Bytes end, long long limit, bint is_whole, long long* number) noexcept nogil:
    """A number from 0 to `limit`, of at most 15 digits; one that is not `is_whole` as the bits of a double."""
    cdef int digits = 0
    cdef bint has_rest = False
    cdef long long whole = 0, power = 1
    cdef double decimal
    while p < end and is_digit(p[0]):
        whole = 10 * whole + p[0] - c"0"
        digits += 1
        if digits > MAX_DIGITS:
            return False
        p += 1
    if digits == 0:
        return False
    number[0] = whole
    if p < end:
        if is_whole or p[0] != c".":
            return False
        p += 1
        while p < end:
            if not is_digit(p[0]):
                return False
            digits += 1
            if digits > MAX_DIGITS:
                return False
            has_rest = has_rest or p[0] != c"0"
            whole = 10 * whole + p[0] - c"0"
            power *= 10
            p += 1
    if number[0] > limit or (number[0] == limit and has_rest):
        return False
    if not is_whole:
        decimal = whole / <double> power
        memcpy(number, &decimal, 8)
    return True


cdef bint read_boolean(Bytes p, Bytes end, long long* number) noexcept nogil:
    """`yes` or `no`, or one of their variants, as 1 or 0."""
    number[0] = (
        is_word(p, end, b"yes", 3) or is_word(p, end, b"true", 4) or is_word(p, end, b"y", 1)
        or is_word(p, end, b"t", 1) or is_word(p, end, b"1", 1)
    )
    return number[0] == 1 or (
        is_word(p, end, b"no", 2) or is_word(p, end, b"false", 5) or is_word(p, end, b"n", 1)
        or is_word(p, end, b"f", 1) or is_word(p, end, b"0", 1)
    )
