/* The C backend: counts the tokens and shingles of an article's texts, in one pass over each text.

   It has no Unicode tables of its own. The case-folding table of a code point below 0x10000 comes
   from selection.text.fold_table.fold_page, one page of 256 code points at a time. A word with a
   code point that cannot be folded without its neighbours is tokenized by
   selection.text.tokens.cached_tokens.

   Every distinct token gets an id, and every distinct window of five ids is a shingle. Both are
   looked up in open-addressed hash tables and compared in full, so that a collision costs time and
   never changes a count. The hash functions are multilinear (Lemire and Kaser, "Strongly universal
   string hashing is fast", The Computer Journal 57 (11), 2014) under random keys of the caller, so
   that a text cannot be written to collide.

   The module has no static variable that changes: its state belongs to the module object, and
   each call has its own tables. Calls share only the pages of the folding table; see find_page. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <string.h>

#if defined(__GNUC__)
#define ALWAYS_INLINE inline __attribute__((always_inline))
#else
#define ALWAYS_INLINE inline
#endif

/* Defined by builds of CPython 3.13 and later; the GIL does the same for all others. */
#ifndef Py_BEGIN_CRITICAL_SECTION
#define Py_BEGIN_CRITICAL_SECTION(object) {
#define Py_END_CRITICAL_SECTION() }
#endif

/* The Python module with fold_page and cached_tokens. */
/* Constants that the Python backend has, too; exported, and compared by tests. */
enum {
    SHINGLE_TOKENS = 5,
    TEXTS = 3,
    REGIONS = 1 << TEXTS,
    PAGE_SIZE = 256,
    ID_BYTES = sizeof(uint32_t),
};

/* Entries of the folding table that are not a folded letter or digit; exported, too. */
enum { IN_ITS_WORD = 0, SEPARATOR = 1, SPACE = 2 };

/* The first two keys carry the hash of a long token from block to block. */
enum { CARRY_KEYS = 2, BLOCK = 64, KEYS = CARRY_KEYS + BLOCK };

enum { FOLDED_END = 0x10000, PAGES = FOLDED_END / PAGE_SIZE };

/* Tables have at least this many slots (as a power of two) and grow by doubling. */
enum { FIRST_TOKEN_BITS = 11, FIRST_SHINGLE_BITS = 10, LARGEST_FIRST_SHINGLE_BITS = 31 };

/* The average length of a word with the space that follows; an estimate for the first size of the
   shingle table, which affects speed only. */
enum { CHARACTERS_PER_TOKEN = 6 };

/* The value of an absent id or position. */
static const uint32_t NONE = UINT32_MAX;

typedef struct {
    PyObject *fold_page;
    PyObject *cached_tokens;
    uint32_t *pages[PAGES]; /* the folding table; a page is NULL until it is loaded */
} State;

typedef struct {
    size_t start, length; /* of its letters */
    uint64_t hash;
} Token;

/* The text that is being tokenized, or an earlier one. */
typedef struct {
    int kind;
    const void *data;
    Py_ssize_t length;
    size_t first; /* position of its first token */
} Text;

/* The tables of one call.

   The number of slots of a hash table is a power of two; at most half of them are in use.

   A position is the index of a token among the tokens of all texts, in order. A shingle is
   identified by the position of its first occurrence. */
typedef struct {
    PyObject *module;
    const uint32_t *pages[PAGES]; /* those of the module that this call has used */
    const uint64_t *keys;

    uint32_t *letters; /* of all tokens, then those of the token that is being read */
    size_t letters_used, letters_capacity;
    Token *tokens; /* by id */
    size_t tokens_used, tokens_capacity;
    uint32_t *token_slots; /* id + 1; 0 in a free slot */
    int token_bits;

    Text texts[TEXTS];
    int texts_used;
    uint32_t text_set; /* a bit for each text that equals the text that is being tokenized */

    size_t used, capacity; /* of the four arrays by position */
    uint32_t *ids;
    uint32_t *next_words; /* offset, in its text, of the word after the token's word */
    uint32_t *shingles;   /* the shingle that begins here, or NONE */
    uint8_t *text_sets;   /* of a shingle, at its first occurrence */

    uint32_t *shingle_slots; /* shingle + 1; 0 in a free slot */
    size_t shingles_used;
    int shingle_bits;
    uint32_t repeated; /* position of an earlier occurrence of the last shingle, or NONE */
    Py_ssize_t regions[REGIONS];
} Work;

static inline State *
get_state(PyObject *module)
{
    return PyModule_GetState(module);
}

/* Grow an array to at least `wanted` items; amortized constant time per item. */
static int
reserve(void **array, size_t *capacity, size_t wanted, size_t item_size)
{
    if (wanted <= *capacity)
        return 0;
    wanted += wanted / 2 + 256;
    void *larger = wanted > (size_t)PY_SSIZE_T_MAX / item_size
                       ? NULL
                       : PyMem_RawRealloc(*array, wanted * item_size);
    if (larger == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    *array = larger;
    *capacity = wanted;
    return 0;
}

#define RESERVE(work, name, wanted) \
    reserve((void **)&(work)->name, &(work)->name##_capacity, wanted, sizeof *(work)->name)

/* Grow the four arrays by position. Each has its own size until all have grown, because an
   allocation can fail between them. */
static int
reserve_positions(Work *work, size_t wanted)
{
    if (wanted <= work->capacity)
        return 0;
    if (wanted >= NONE) {
        PyErr_NoMemory();
        return -1;
    }
    size_t ids = work->capacity, next_words = ids, shingles = ids, sets = ids;
    if (reserve((void **)&work->ids, &ids, wanted, sizeof *work->ids) < 0 ||
        reserve((void **)&work->next_words, &next_words, wanted, sizeof *work->next_words) < 0 ||
        reserve((void **)&work->shingles, &shingles, wanted, sizeof *work->shingles) < 0 ||
        reserve((void **)&work->text_sets, &sets, wanted, sizeof *work->text_sets) < 0)
        return -1;
    work->capacity = ids;
    return 0;
}

/* Mix the bits of a multilinear hash: sums of multiples of a key form arithmetic progressions,
   which linear probing turns into long runs.

   The steps are xorshift and multiply, as in splitmix64 (Steele, Lea and Flood, "Fast splittable
   pseudorandom number generators", OOPSLA 2014). The two constants are those of Vigna's splitmix64:
   its increment and its first multiplier. A last xorshift is not needed, because the upper bits
   select the slot. */
static inline uint64_t
mix_hash(uint64_t hash)
{
    hash ^= hash >> 32;
    hash *= UINT64_C(0x9e3779b97f4a7c15);
    hash ^= hash >> 29;
    hash *= UINT64_C(0xbf58476d1ce4e5b9);
    return hash;
}

/* Add the letter at index `place` to the hash of a token; mix_hash completes the hash.

   Within a block this is the multilinear hash. A token of more than one block continues with the
   two halves of the previous block's hash, under two keys of their own. */
static inline uint64_t
hash_letter(const uint64_t *keys, uint64_t hash, size_t place, uint32_t letter)
{
    size_t in_block = place % BLOCK;
    if (in_block == 0 && place > 0)
        hash = keys[0] * (uint32_t)hash + keys[1] * (hash >> 32);
    return hash + keys[CARRY_KEYS + in_block] * letter;
}

/* Hash the ids of a shingle. The keys are those of the letters: the tables are separate. */
static inline uint64_t
hash_ids(const uint64_t *keys, const uint32_t *ids)
{
    uint64_t hash = 0;
    for (int i = 0; i < SHINGLE_TOKENS; i++)
        hash += keys[i] * ids[i];
    return mix_hash(hash);
}

/* Allocate a table of 2 ** bits free slots. */
static uint32_t *
allocate_slots(int bits)
{
    uint32_t *slots = PyMem_RawCalloc((size_t)1 << bits, sizeof *slots);
    if (slots == NULL)
        PyErr_NoMemory();
    return slots;
}

/* ---------------------------------------------------------------------- tokens */

static int
grow_token_slots(Work *work)
{
    int bits = work->token_bits + 1;
    uint32_t *slots = allocate_slots(bits);
    if (slots == NULL)
        return -1;
    size_t mask = ((size_t)1 << bits) - 1;
    for (size_t id = 0; id < work->tokens_used; id++) {
        size_t slot = work->tokens[id].hash >> (64 - bits);
        while (slots[slot])
            slot = (slot + 1) & mask;
        slots[slot] = (uint32_t)id + 1;
    }
    PyMem_RawFree(work->token_slots);
    work->token_slots = slots;
    work->token_bits = bits;
    return 0;
}

/* Append the id of a token to the text's ids. Its letters are at the end of `letters`. */
static inline int
add_token(Work *work, size_t length, uint64_t hash)
{
    const uint32_t *letters = work->letters + work->letters_used;
    hash = mix_hash(hash);
    size_t mask = ((size_t)1 << work->token_bits) - 1;
    size_t slot = hash >> (64 - work->token_bits);
    uint32_t id;

    if (reserve_positions(work, work->used + 1) < 0)
        return -1;
    while (work->token_slots[slot]) {
        id = work->token_slots[slot] - 1;
        const Token *token = &work->tokens[id];
        if (token->hash == hash && token->length == length &&
            memcmp(work->letters + token->start, letters, length * sizeof *letters) == 0) {
            work->ids[work->used++] = id;
            return 0;
        }
        slot = (slot + 1) & mask;
    }
    if (RESERVE(work, tokens, work->tokens_used + 1) < 0)
        return -1;
    if (work->tokens_used == NONE - 1) {
        PyErr_SetString(PyExc_OverflowError, "too many distinct tokens");
        return -1;
    }
    id = (uint32_t)work->tokens_used++;
    work->tokens[id] = (Token){work->letters_used, length, hash};
    work->letters_used += length;
    work->token_slots[slot] = id + 1;
    work->ids[work->used++] = id;
    if (work->tokens_used > mask / 2)
        return grow_token_slots(work);
    return 0;
}

/* Append a token that Python found. */
static int
add_token_of_word(Work *work, PyObject *token)
{
    if (!PyUnicode_Check(token)) {
        PyErr_SetString(PyExc_TypeError, "cached_tokens must return strings");
        return -1;
    }
    size_t length = (size_t)PyUnicode_GET_LENGTH(token);
    if (RESERVE(work, letters, work->letters_used + length) < 0)
        return -1;
    uint32_t *letters = work->letters + work->letters_used;
    uint64_t hash = 0;
    for (size_t i = 0; i < length; i++) {
        letters[i] = PyUnicode_READ_CHAR(token, (Py_ssize_t)i);
        hash = hash_letter(work->keys, hash, i, letters[i]);
    }
    return add_token(work, length, hash);
}

/* Append the tokens of a word, text[start:end], as Python finds them. */
static int
add_word(Work *work, PyObject *text, Py_ssize_t start, Py_ssize_t end)
{
    PyObject *word = PyUnicode_Substring(text, start, end);
    if (word == NULL)
        return -1;
    PyObject *found = PyObject_CallOneArg(get_state(work->module)->cached_tokens, word);
    Py_DECREF(word);
    if (found == NULL)
        return -1;
    PyObject *tokens = PyObject_GetIter(found);
    Py_DECREF(found);
    if (tokens == NULL)
        return -1;
    /* One at a time: a list of the tokens of a long word takes many times its letters. */
    PyObject *token;
    int failed = 0;
    while (!failed && (token = PyIter_Next(tokens)) != NULL) {
        failed = add_token_of_word(work, token) < 0;
        Py_DECREF(token);
    }
    Py_DECREF(tokens);
    return failed || PyErr_Occurred() ? -1 : 0;
}

/* Ask Python for a page of the folding table. */
static uint32_t *
compute_page(PyObject *fold_page, int number)
{
    PyObject *entries = PyObject_CallFunction(fold_page, "i", number);
    if (entries == NULL)
        return NULL;
    uint32_t *page = NULL;
    size_t size = PAGE_SIZE * sizeof *page;
    if (!PyBytes_Check(entries) || (size_t)PyBytes_GET_SIZE(entries) != size)
        PyErr_SetString(PyExc_ValueError, "fold_page must return 256 numbers of four bytes");
    else if ((page = PyMem_RawMalloc(size)) == NULL)
        PyErr_NoMemory();
    else
        memcpy(page, PyBytes_AS_STRING(entries), size);
    Py_DECREF(entries);
    return page;
}

/* Return a page of the folding table. The module keeps the first copy of each page that a thread
   computes, until the module is freed; a page never changes. */
static const uint32_t *
find_page(PyObject *module, int number)
{
    State *state = get_state(module);
    uint32_t *page;
    Py_BEGIN_CRITICAL_SECTION(module);
    page = state->pages[number];
    Py_END_CRITICAL_SECTION();
    if (page != NULL)
        return page;
    uint32_t *computed = compute_page(state->fold_page, number);
    if (computed == NULL)
        return NULL;
    Py_BEGIN_CRITICAL_SECTION(module);
    if (state->pages[number] == NULL) {
        state->pages[number] = computed;
        computed = NULL;
    }
    page = state->pages[number];
    Py_END_CRITICAL_SECTION();
    PyMem_RawFree(computed); /* another thread was first */
    return page;
}

/* Look up a code point in the folding table. */
static inline int
fold(Work *work, Py_UCS4 character, uint32_t *folded)
{
    *folded = IN_ITS_WORD;
    if (character >= FOLDED_END)
        return 0;
    int number = (int)(character / PAGE_SIZE);
    const uint32_t *page = work->pages[number];
    if (page == NULL) {
        page = find_page(work->module, number);
        if (page == NULL)
            return -1;
        work->pages[number] = page;
    }
    *folded = page[character % PAGE_SIZE];
    return 0;
}

/* -------------------------------------------------------------------- shingles */

static int
grow_shingle_slots(Work *work)
{
    int bits = work->shingle_bits + 1;
    uint32_t *slots = allocate_slots(bits);
    if (slots == NULL)
        return -1;
    size_t mask = ((size_t)1 << bits) - 1;
    size_t old_slots = (size_t)1 << work->shingle_bits;
    for (size_t i = 0; i < old_slots; i++) {
        uint32_t shingle = work->shingle_slots[i];
        if (!shingle)
            continue;
        size_t slot = hash_ids(work->keys, work->ids + shingle - 1) >> (64 - bits);
        while (slots[slot])
            slot = (slot + 1) & mask;
        slots[slot] = shingle;
    }
    PyMem_RawFree(work->shingle_slots);
    work->shingle_slots = slots;
    work->shingle_bits = bits;
    return 0;
}

/* Count one more occurrence of the shingle at an earlier position. */
static inline void
repeat_shingle(Work *work, size_t position, uint32_t earlier)
{
    uint32_t shingle = work->shingles[earlier];
    work->shingles[position] = shingle;
    work->repeated = earlier;
    uint8_t *texts = &work->text_sets[shingle];
    if ((*texts | work->text_set) != *texts) {
        work->regions[*texts]--;
        *texts |= (uint8_t)work->text_set;
        work->regions[*texts]++;
    }
}

/* Count the shingle whose first token is at a position. */
static inline int
add_shingle(Work *work, size_t position)
{
    const uint32_t *ids = work->ids + position;
    if (work->repeated != NONE) {
        /* The last shingle occurred earlier, so the first four tokens are equal at `next`. */
        uint32_t next = work->repeated + 1;
        if (work->shingles[next] != NONE &&
            work->ids[next + SHINGLE_TOKENS - 1] == ids[SHINGLE_TOKENS - 1]) {
            repeat_shingle(work, position, next);
            return 0;
        }
    }
    size_t mask = ((size_t)1 << work->shingle_bits) - 1;
    size_t slot = hash_ids(work->keys, ids) >> (64 - work->shingle_bits);
    uint32_t shingle;
    for (; (shingle = work->shingle_slots[slot]) != 0; slot = (slot + 1) & mask) {
        if (memcmp(work->ids + shingle - 1, ids, SHINGLE_TOKENS * sizeof *ids) == 0) {
            repeat_shingle(work, position, shingle - 1);
            return 0;
        }
    }
    work->shingle_slots[slot] = (uint32_t)position + 1;
    work->shingles[position] = (uint32_t)position;
    work->text_sets[position] = (uint8_t)work->text_set;
    work->regions[work->text_set]++;
    work->repeated = NONE;
    if (++work->shingles_used > mask / 2)
        return grow_shingle_slots(work);
    return 0;
}

/* Count the shingles of the text whose last token is at the position or later. */
static int
add_shingles(Work *work, size_t position)
{
    size_t first = work->texts[work->texts_used - 1].first;
    size_t lead = SHINGLE_TOKENS - 1;
    for (; position < work->used; position++) {
        work->shingles[position] = NONE;
        if (position >= first + lead && add_shingle(work, position - lead) < 0)
            return -1;
    }
    return 0;
}

/* Count the one shingle of a text of one to four tokens, padded with NONE. */
static int
add_short_shingle(Work *work)
{
    size_t first = work->texts[work->texts_used - 1].first;
    size_t padded = first + SHINGLE_TOKENS;
    if (work->used == first || work->used >= padded)
        return 0;
    if (reserve_positions(work, padded) < 0)
        return -1;
    for (; work->used < padded; work->used++) {
        work->ids[work->used] = NONE;
        work->shingles[work->used] = NONE;
        work->next_words[work->used] = 0;
    }
    work->repeated = NONE;
    return add_shingle(work, first);
}

/* ----------------------------------------------------------------------- texts */

/* Return the length of the longest common prefix of two texts from two offsets on, at most
   `most`. */
static inline Py_ssize_t
common_length(const Text *one, Py_ssize_t at_one, const Text *other, Py_ssize_t at_other,
              Py_ssize_t most)
{
    Py_ssize_t same = 0;
    if (most > one->length - at_one)
        most = one->length - at_one;
    if (most > other->length - at_other)
        most = other->length - at_other;
    if (one->kind == other->kind) {
        const char *left = (const char *)one->data + at_one * one->kind;
        const char *right = (const char *)other->data + at_other * one->kind;
        Py_ssize_t step = (Py_ssize_t)sizeof(uint64_t) / one->kind;
        while (same + step <= most && memcmp(left + same * one->kind, right + same * one->kind,
                                             sizeof(uint64_t)) == 0)
            same += step;
    }
    while (same < most && PyUnicode_READ(one->kind, one->data, at_one + same) ==
                              PyUnicode_READ(other->kind, other->data, at_other + same))
        same++;
    return same;
}

/* Copy the tokens of the words that follow the earlier occurrence of the last shingle, as far as
   the text has the same words from `at` on. Return the offset of the first word that differs. */
static Py_ssize_t
copy_repeated_words(Work *work, Py_ssize_t at)
{
    const Text *text = &work->texts[work->texts_used - 1];
    size_t token = (size_t)work->repeated + SHINGLE_TOKENS - 1;
    int number = work->texts_used - 1;
    while (work->texts[number].first > token)
        number--;
    const Text *before = &work->texts[number];
    size_t end = number + 1 < work->texts_used ? before[1].first : work->used;
    Py_ssize_t from = work->next_words[token];
    if (token + 1 >= end || work->next_words[token + 1] == from || from > before->length)
        return at;
    /* Up to the last token that is known: a text that repeats itself is both texts. */
    Py_ssize_t most = (Py_ssize_t)work->next_words[end - 1] - from;
    Py_ssize_t limit = from + common_length(before, from, text, at, most);
    Py_ssize_t shift = at - from;
    /* A word includes the white space after it, so only complete words are copied. */
    while (++token < end && (Py_ssize_t)work->next_words[token] <= limit) {
        if (reserve_positions(work, work->used + 1) < 0)
            return -1;
        size_t position = work->used++;
        work->ids[position] = work->ids[token];
        at = work->next_words[token] + shift;
        work->next_words[position] = (uint32_t)at;
        work->shingles[position] = NONE;
        repeat_shingle(work, position - SHINGLE_TOKENS + 1, work->repeated + 1);
    }
    return at;
}

/* Complete the word that ends before `at`; its tokens begin at a position. */
static inline int
end_word(Work *work, size_t position, Py_ssize_t at)
{
    for (size_t i = position; i < work->used; i++)
        work->next_words[i] = (uint32_t)at;
    return add_shingles(work, position);
}

/* Tokenize a text. `kind` is a constant in every call, so that each kind is compiled by itself. */
static ALWAYS_INLINE int
tokenize_kind(Work *work, PyObject *text, int kind)
{
    const void *data = PyUnicode_DATA(text);
    Py_ssize_t length = PyUnicode_GET_LENGTH(text);
    Py_ssize_t at = 0;
    while (at < length) {
        Py_ssize_t word = at;
        size_t before = work->used;
        uint32_t folded = SEPARATOR;
        while (folded == SEPARATOR) {
            size_t letter = 0;
            uint64_t hash = 0;
            for (folded = SPACE; at < length; at++) {
                if (fold(work, PyUnicode_READ(kind, data, at), &folded) < 0)
                    return -1;
                if (folded <= SPACE)
                    break;
                if (letter % BLOCK == 0 &&
                    RESERVE(work, letters, work->letters_used + letter + BLOCK) < 0)
                    return -1;
                work->letters[work->letters_used + letter] = folded;
                hash = hash_letter(work->keys, hash, letter++, folded);
            }
            if (folded == IN_ITS_WORD)
                break;
            if (letter && add_token(work, letter, hash) < 0)
                return -1;
            at++;
        }
        if (folded == IN_ITS_WORD) {
            work->used = before;
            while (at < length && !Py_UNICODE_ISSPACE(PyUnicode_READ(kind, data, at)))
                at++;
            if (add_word(work, text, word, at++) < 0)
                return -1;
        }
        if (work->used == before)
            continue;
        if (end_word(work, before, at) < 0)
            return -1;
        if (work->repeated != NONE && (at = copy_repeated_words(work, at)) < 0)
            return -1;
    }
    return 0;
}

static int
tokenize(Work *work, PyObject *text)
{
    if ((size_t)PyUnicode_GET_LENGTH(text) >= NONE - 1) {
        PyErr_NoMemory();
        return -1;
    }
    work->repeated = NONE;
    work->texts[work->texts_used++] = (Text){PyUnicode_KIND(text), PyUnicode_DATA(text),
                                             PyUnicode_GET_LENGTH(text), work->used};
    switch (PyUnicode_KIND(text)) {
    case PyUnicode_1BYTE_KIND:
        return tokenize_kind(work, text, PyUnicode_1BYTE_KIND);
    case PyUnicode_2BYTE_KIND:
        return tokenize_kind(work, text, PyUnicode_2BYTE_KIND);
    default:
        return tokenize_kind(work, text, PyUnicode_4BYTE_KIND);
    }
}

/* ---------------------------------------------------------------------- module */

/* Count three texts; equal texts are tokenized once. */
static int
measure_texts(Work *work, PyObject *const *texts, Py_ssize_t *tokens)
{
    uint32_t done = 0;
    for (int i = 0; i < TEXTS; i++) {
        if (done & 1u << i)
            continue;
        uint32_t same = 0;
        for (int j = i; j < TEXTS; j++)
            if (texts[j] == texts[i] || PyUnicode_Compare(texts[j], texts[i]) == 0)
                same |= 1u << j;
        size_t first = work->used;
        work->text_set = same;
        if (tokenize(work, texts[i]) < 0)
            return -1;
        for (int j = i; j < TEXTS; j++)
            if (same & 1u << j)
                tokens[j] = (Py_ssize_t)(work->used - first);
        if (add_short_shingle(work) < 0)
            return -1;
        done |= same;
    }
    return 0;
}

PyDoc_STRVAR(measure_doc,
"measure(one, two, three, keys, /)\n--\n\n"
"Count the tokens of three visible texts, and the shingles that they share.\n\n"
"Return the two attributes of selection.text.overlap.Counts: three numbers of tokens, eight of\n"
"shingles. keys are KEY_BYTES random bytes, unknown to the authors of the texts.");

static PyObject *
measure(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (count != TEXTS + 1) {
        PyErr_SetString(PyExc_TypeError, "measure takes three texts and the keys");
        return NULL;
    }
    for (int i = 0; i < TEXTS; i++) {
        if (!PyUnicode_Check(args[i])) {
            PyErr_SetString(PyExc_TypeError, "a text must be a str");
            return NULL;
        }
    }
    uint64_t keys[KEYS];
    if (!PyBytes_Check(args[TEXTS]) || (size_t)PyBytes_GET_SIZE(args[TEXTS]) != sizeof keys) {
        PyErr_SetString(PyExc_ValueError, "keys must be KEY_BYTES bytes");
        return NULL;
    }
    memcpy(keys, PyBytes_AS_STRING(args[TEXTS]), sizeof keys);

    Work work = {.module = module, .keys = keys, .token_bits = FIRST_TOKEN_BITS,
                 .shingle_bits = FIRST_SHINGLE_BITS};
    Py_ssize_t estimate = PyUnicode_GET_LENGTH(args[0]) / CHARACTERS_PER_TOKEN;
    while (work.shingle_bits < LARGEST_FIRST_SHINGLE_BITS &&
           estimate >= (Py_ssize_t)1 << (work.shingle_bits - 1))
        work.shingle_bits++;
    Py_ssize_t tokens[TEXTS];
    PyObject *result = NULL;
    work.token_slots = allocate_slots(work.token_bits);
    if (work.token_slots != NULL)
        work.shingle_slots = allocate_slots(work.shingle_bits);
    if (work.token_slots != NULL && work.shingle_slots != NULL &&
        measure_texts(&work, args, tokens) == 0) {
        const Py_ssize_t *r = work.regions;
        result = Py_BuildValue("(nnn)(nnnnnnnn)", tokens[0], tokens[1], tokens[2], r[0], r[1],
                               r[2], r[3], r[4], r[5], r[6], r[7]);
    }
    PyMem_RawFree(work.letters);
    PyMem_RawFree(work.tokens);
    PyMem_RawFree(work.token_slots);
    PyMem_RawFree(work.ids);
    PyMem_RawFree(work.next_words);
    PyMem_RawFree(work.shingles);
    PyMem_RawFree(work.text_sets);
    PyMem_RawFree(work.shingle_slots);
    return result;
}

PyDoc_STRVAR(has_markup_doc,
"has_markup(text, /)\n--\n\n"
"Return whether a text has a character that begins a reference, a tag, a link or an image.");

/* GCC vectorizes the inner loop because it has a fixed length and no branch, and keeps three
   accumulators: one expression of the three comparisons becomes a scalar bit test. */
#define DEFINE_HAS_MARKUP(name, type)                                           \
    static int name(const type *text, Py_ssize_t length)                        \
    {                                                                           \
        enum { STEP = 256 };                                                    \
        for (; length >= STEP; text += STEP, length -= STEP) {                  \
            type tags = 0, references = 0, links = 0;                           \
            for (int i = 0; i < STEP; i++) {                                    \
                tags |= text[i] == '<';                                         \
                references |= text[i] == '&';                                   \
                links |= text[i] == '[';                                        \
            }                                                                   \
            if (tags | references | links)                                      \
                return 1;                                                       \
        }                                                                       \
        for (Py_ssize_t i = 0; i < length; i++)                                 \
            if (text[i] == '<' || text[i] == '&' || text[i] == '[')             \
                return 1;                                                       \
        return 0;                                                               \
    }

DEFINE_HAS_MARKUP(has_markup_1, Py_UCS1)
DEFINE_HAS_MARKUP(has_markup_2, Py_UCS2)
DEFINE_HAS_MARKUP(has_markup_4, Py_UCS4)

static PyObject *
has_markup(PyObject *Py_UNUSED(module), PyObject *text)
{
    if (!PyUnicode_Check(text)) {
        PyErr_SetString(PyExc_TypeError, "a text must be a str");
        return NULL;
    }
    const void *data = PyUnicode_DATA(text);
    Py_ssize_t length = PyUnicode_GET_LENGTH(text);
    switch (PyUnicode_KIND(text)) {
    case PyUnicode_1BYTE_KIND:
        return PyBool_FromLong(has_markup_1(data, length));
    case PyUnicode_2BYTE_KIND:
        return PyBool_FromLong(has_markup_2(data, length));
    default:
        return PyBool_FromLong(has_markup_4(data, length));
    }
}

static PyMethodDef methods[] = {
    {"has_markup", has_markup, METH_O, has_markup_doc},
    {"measure", (PyCFunction)(void (*)(void))measure, METH_FASTCALL, measure_doc},
    {NULL, NULL, 0, NULL},
};

static PyObject *
imported(const char *module_name, const char *name)
{
    PyObject *module = PyImport_ImportModule(module_name);
    PyObject *object = module == NULL ? NULL : PyObject_GetAttrString(module, name);
    Py_XDECREF(module);
    return object;
}

static int
execute(PyObject *module)
{
    State *state = get_state(module);
    state->fold_page = imported("selection.text.fold_table", "fold_page");
    if (state->fold_page == NULL)
        return -1;
    state->cached_tokens = imported("selection.text.tokens", "cached_tokens");
    if (state->cached_tokens == NULL)
        return -1;
    if (PyModule_AddIntMacro(module, SHINGLE_TOKENS) < 0 ||
        PyModule_AddIntMacro(module, TEXTS) < 0 || PyModule_AddIntMacro(module, REGIONS) < 0 ||
        PyModule_AddIntMacro(module, PAGE_SIZE) < 0 || PyModule_AddIntMacro(module, ID_BYTES) < 0 ||
        PyModule_AddIntMacro(module, IN_ITS_WORD) < 0 ||
        PyModule_AddIntMacro(module, SEPARATOR) < 0 || PyModule_AddIntMacro(module, SPACE) < 0)
        return -1;
    return PyModule_AddIntConstant(module, "KEY_BYTES", KEYS * (long)sizeof(uint64_t));
}

static int
traverse(PyObject *module, visitproc visit, void *arg)
{
    State *state = get_state(module);
    Py_VISIT(state->fold_page);
    Py_VISIT(state->cached_tokens);
    return 0;
}

static int
clear(PyObject *module)
{
    State *state = get_state(module);
    Py_CLEAR(state->fold_page);
    Py_CLEAR(state->cached_tokens);
    return 0;
}

static void
free_state(void *module)
{
    State *state = get_state(module);
    clear(module);
    for (int i = 0; i < PAGES; i++)
        PyMem_RawFree(state->pages[i]);
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, execute},
#ifdef Py_mod_multiple_interpreters
    {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#endif
#ifdef Py_mod_gil
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "selection.text._native",
    .m_doc = "The C backend.",
    .m_size = sizeof(State),
    .m_methods = methods,
    .m_slots = slots,
    .m_traverse = traverse,
    .m_clear = clear,
    .m_free = free_state,
};

PyMODINIT_FUNC
PyInit__native(void)
{
    return PyModuleDef_Init(&definition);
}
