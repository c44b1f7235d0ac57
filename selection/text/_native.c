/* The compiled measure: tokens, ids and shingles of an article's texts in one pass each.

   It knows nothing of Unicode. What a character below 0x10000 means it asks of
   selection.text.fold_table.fold_page, 256 characters at a time; a word in which one character cannot
   be judged by itself goes whole to selection.text.tokens.cached_tokens.

   Every distinct token gets an id, every distinct window of five ids is a shingle. Both are
   found by hash and compared in full. The hash is multilinear under keys that the caller
   draws at random, so that no text can be made to collide on purpose. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <string.h>

#if defined(__GNUC__)
#define ALWAYS_INLINE inline __attribute__((always_inline))
#else
#define ALWAYS_INLINE inline
#endif

enum {
    SHINGLE_TOKENS = 5,
    TEXTS = 3,
    REGIONS = 1 << TEXTS,
    PAGE_SIZE = 256,
    PAGES = 0x10000 / PAGE_SIZE,
    /* Of the keys the first two carry the hash of a long token from block to block. */
    CARRY_KEYS = 2,
    BLOCK = 64,
    KEYS = CARRY_KEYS + BLOCK,
};

/* What fold_page says of a character that is no letter; a letter is itself, folded. */
enum { IN_ITS_WORD = 0, SEPARATOR = 1, SPACE = 2 };

/* No token, or no position. */
static const uint32_t NONE = UINT32_MAX;

typedef struct {
    PyObject *fold_page;
    PyObject *cached_tokens;
    uint32_t *pages[PAGES];
} State;

typedef struct {
    size_t start, length; /* of its letters */
    uint64_t hash;
} Token;

/* A text that is being read or was read before. */
typedef struct {
    int kind;
    const void *data;
    Py_ssize_t length;
    size_t first; /* position of its first token */
} Text;

/* An open-addressed table has a power of two of slots, at most half of them taken.

   A position is that of a token among the tokens of all texts, in order. A shingle is known by
   the first position at which it was met. */
typedef struct {
    State *state;
    const uint64_t *keys;

    uint32_t *letters; /* of all tokens, and at the end of the one that is being read */
    size_t letters_used, letters_room;
    Token *tokens; /* by id */
    size_t tokens_used, tokens_room;
    uint32_t *token_slots; /* id + 1; 0 in a free slot */
    int token_bits;

    Text texts[TEXTS];
    int texts_used;
    uint32_t text_set; /* a bit for each text that has the tokens that are being read */

    size_t used, room; /* of the arrays by position */
    uint32_t *ids;
    uint32_t *next_words; /* offset in its text of the word behind the token's */
    uint32_t *shingles;   /* the shingle that begins here, or NONE */
    uint8_t *text_sets;   /* of a shingle, where it was met first */

    uint32_t *shingle_slots; /* shingle + 1; 0 in a free slot */
    size_t shingles_used;
    int shingle_bits;
    uint32_t follow; /* where the tokens of the last shingle were met before, or NONE */
    Py_ssize_t regions[REGIONS];
} Work;

/* Makes room for so many items in all, and for some more. */
static int
reserve(void **array, size_t *room, size_t wanted, size_t item_size)
{
    if (wanted <= *room)
        return 0;
    wanted += wanted / 2 + 256;
    void *larger = wanted > PY_SSIZE_T_MAX / item_size
                       ? NULL
                       : PyMem_RawRealloc(*array, wanted * item_size);
    if (larger == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    *array = larger;
    *room = wanted;
    return 0;
}

#define RESERVE(work, name, wanted) \
    reserve((void **)&(work)->name, &(work)->name##_room, wanted, sizeof *(work)->name)

/* Makes room for positions. */
static int
reserve_positions(Work *work, size_t wanted)
{
    if (wanted <= work->room)
        return 0;
    if (wanted >= NONE) {
        PyErr_NoMemory();
        return -1;
    }
    size_t ids = work->room, next_words = work->room, shingles = work->room, sets = work->room;
    if (reserve((void **)&work->ids, &ids, wanted, sizeof *work->ids) < 0 ||
        reserve((void **)&work->next_words, &next_words, wanted, sizeof *work->next_words) < 0 ||
        reserve((void **)&work->shingles, &shingles, wanted, sizeof *work->shingles) < 0 ||
        reserve((void **)&work->text_sets, &sets, wanted, sizeof *work->text_sets) < 0)
        return -1;
    work->room = ids;
    return 0;
}

/* Mixes the bits of a multilinear hash (Lemire and Kaser, "Strongly universal string hashing is
   fast", 2014): its upper bits are weak where the values are small or in arithmetic progression.
   The multipliers are those of splitmix64: its increment, 2^64 divided by the golden ratio, and
   the first one of its finalizer. */
static inline uint64_t
spread(uint64_t hash)
{
    hash ^= hash >> 32;
    hash *= UINT64_C(0x9e3779b97f4a7c15);
    hash ^= hash >> 29;
    hash *= UINT64_C(0xbf58476d1ce4e5b9);
    return hash;
}

/* Takes one more letter, the one at `place`, into the hash of a token; spread ends it. */
static inline uint64_t
hash_letter(const uint64_t *keys, uint64_t hash, size_t place, uint32_t letter)
{
    size_t in_block = place % BLOCK;
    if (in_block == 0 && place > 0)
        hash = keys[0] * (uint32_t)hash + keys[1] * (hash >> 32);
    return hash + keys[CARRY_KEYS + in_block] * letter;
}

static inline uint64_t
hash_ids(const uint64_t *keys, const uint32_t *ids)
{
    uint64_t hash = 0;
    for (int i = 0; i < SHINGLE_TOKENS; i++)
        hash += keys[i] * ids[i];
    return spread(hash);
}

/* ---------------------------------------------------------------------- tokens */

static int
enlarge_token_slots(Work *work)
{
    int bits = work->token_bits + 1;
    uint32_t *slots = PyMem_RawCalloc((size_t)1 << bits, sizeof *slots);
    if (slots == NULL) {
        PyErr_NoMemory();
        return -1;
    }
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

/* A token has been read whose letters stand behind all others'; its id joins the text's. */
static inline int
add_token(Work *work, size_t length, uint64_t hash)
{
    const uint32_t *letters = work->letters + work->letters_used;
    hash = spread(hash);
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
        return enlarge_token_slots(work);
    return 0;
}

static int
add_token_of_word(Work *work, PyObject *token)
{
    if (!PyUnicode_Check(token)) {
        PyErr_SetString(PyExc_TypeError, "cached_tokens gives strings");
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

static int
add_word(Work *work, PyObject *text, Py_ssize_t start, Py_ssize_t end)
{
    PyObject *word = PyUnicode_Substring(text, start, end);
    if (word == NULL)
        return -1;
    PyObject *found = PyObject_CallOneArg(work->state->cached_tokens, word);
    Py_DECREF(word);
    if (found == NULL)
        return -1;
    PyObject *tokens = PyObject_GetIter(found);
    Py_DECREF(found);
    if (tokens == NULL)
        return -1;
    /* One at a time: a list of all tokens of a long word takes many times its letters. */
    PyObject *token;
    int failed = 0;
    while (!failed && (token = PyIter_Next(tokens)) != NULL) {
        failed = add_token_of_word(work, token) < 0;
        Py_DECREF(token);
    }
    Py_DECREF(tokens);
    return failed || PyErr_Occurred() ? -1 : 0;
}

static const uint32_t *
load_page(State *state, int number)
{
    PyObject *page = PyObject_CallFunction(state->fold_page, "i", number);
    if (page == NULL)
        return NULL;
    if (!PyBytes_Check(page) || PyBytes_GET_SIZE(page) != PAGE_SIZE * sizeof(uint32_t)) {
        PyErr_SetString(PyExc_ValueError, "fold_page gives 256 numbers of four bytes");
        Py_DECREF(page);
        return NULL;
    }
    uint32_t *loaded = PyMem_RawMalloc(PAGE_SIZE * sizeof *loaded);
    if (loaded == NULL)
        PyErr_NoMemory();
    else if (state->pages[number] != NULL) { /* another thread was here meanwhile */
        PyMem_RawFree(loaded);
        loaded = state->pages[number];
    }
    else {
        memcpy(loaded, PyBytes_AS_STRING(page), PAGE_SIZE * sizeof *loaded);
        state->pages[number] = loaded;
    }
    Py_DECREF(page);
    return loaded;
}

static inline int
fold(State *state, Py_UCS4 character, uint32_t *folded)
{
    *folded = IN_ITS_WORD;
    if (character >= 0x10000)
        return 0;
    const uint32_t *page = state->pages[character / PAGE_SIZE];
    if (page == NULL && (page = load_page(state, character / PAGE_SIZE)) == NULL)
        return -1;
    *folded = page[character % PAGE_SIZE];
    return 0;
}

/* -------------------------------------------------------------------- shingles */

static int
enlarge_shingle_slots(Work *work)
{
    int bits = work->shingle_bits + 1;
    uint32_t *slots = PyMem_RawCalloc((size_t)1 << bits, sizeof *slots);
    if (slots == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    size_t mask = ((size_t)1 << bits) - 1;
    size_t old_slots = work->shingle_slots == NULL ? 0 : (size_t)1 << work->shingle_bits;
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

static inline void
found_shingle(Work *work, size_t position, uint32_t follow)
{
    uint32_t shingle = work->shingles[follow];
    work->shingles[position] = shingle;
    work->follow = follow;
    uint8_t *texts = &work->text_sets[shingle];
    if ((*texts | work->text_set) != *texts) {
        work->regions[*texts]--;
        *texts |= (uint8_t)work->text_set;
        work->regions[*texts]++;
    }
}

/* Counts the shingle whose tokens are those from the position on. */
static inline int
add_shingle(Work *work, size_t position)
{
    const uint32_t *ids = work->ids + position;
    if (work->follow != NONE) {
        /* Four of the five tokens are those that follow there, too. */
        uint32_t next = work->follow + 1;
        if (work->shingles[next] != NONE &&
            work->ids[next + SHINGLE_TOKENS - 1] == ids[SHINGLE_TOKENS - 1]) {
            found_shingle(work, position, next);
            return 0;
        }
    }
    size_t mask = ((size_t)1 << work->shingle_bits) - 1;
    size_t slot = hash_ids(work->keys, ids) >> (64 - work->shingle_bits);
    uint32_t shingle;
    for (; (shingle = work->shingle_slots[slot]) != 0; slot = (slot + 1) & mask) {
        if (memcmp(work->ids + shingle - 1, ids, SHINGLE_TOKENS * sizeof *ids) == 0) {
            found_shingle(work, position, shingle - 1);
            return 0;
        }
    }
    work->shingle_slots[slot] = (uint32_t)position + 1;
    work->shingles[position] = (uint32_t)position;
    work->text_sets[position] = (uint8_t)work->text_set;
    work->regions[work->text_set]++;
    work->follow = NONE;
    if (++work->shingles_used > mask / 2)
        return enlarge_shingle_slots(work);
    return 0;
}

/* Counts the shingles that end with one of the text's tokens from the position on. */
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

/* A text of one to four tokens is one shingle, filled up with what is not a token. */
static int
add_short_shingle(Work *work)
{
    size_t first = work->texts[work->texts_used - 1].first;
    size_t filled = first + SHINGLE_TOKENS;
    if (work->used == first || work->used >= filled)
        return 0;
    if (reserve_positions(work, filled) < 0)
        return -1;
    for (; work->used < filled; work->used++) {
        work->ids[work->used] = NONE;
        work->shingles[work->used] = NONE;
        work->next_words[work->used] = 0;
    }
    work->follow = NONE;
    return add_shingle(work, first);
}

/* ----------------------------------------------------------------------- texts */

/* How many characters, at the most so many, are the same from two places on. */
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

/* Where the last words were met before, takes the words that are the same behind them, too.
   Returns the offset of the first word that is not, which is `at` if there is none. */
static Py_ssize_t
follow_words(Work *work, Py_ssize_t at)
{
    const Text *text = &work->texts[work->texts_used - 1];
    size_t token = (size_t)work->follow + SHINGLE_TOKENS - 1;
    int number = work->texts_used - 1;
    while (work->texts[number].first > token)
        number--;
    const Text *before = &work->texts[number];
    size_t end = number + 1 < work->texts_used ? before[1].first : work->used;
    Py_ssize_t from = work->next_words[token];
    if (token + 1 >= end || work->next_words[token + 1] == from || from > before->length)
        return at;
    /* What is compared is taken, or ends the comparison: this text may repeat itself. */
    Py_ssize_t most = (Py_ssize_t)work->next_words[end - 1] - from;
    Py_ssize_t limit = from + common_length(before, from, text, at, most);
    Py_ssize_t shift = at - from;
    /* A word ends with its white space, so the word is the same as a whole. */
    while (++token < end && (Py_ssize_t)work->next_words[token] <= limit) {
        if (reserve_positions(work, work->used + 1) < 0)
            return -1;
        size_t position = work->used++;
        work->ids[position] = work->ids[token];
        at = work->next_words[token] + shift;
        work->next_words[position] = (uint32_t)at;
        work->shingles[position] = NONE;
        found_shingle(work, position - SHINGLE_TOKENS + 1, work->follow + 1);
    }
    return at;
}

/* A word was read, the one before `at`; its tokens are those from the position on. */
static inline int
end_word(Work *work, size_t position, Py_ssize_t at)
{
    for (size_t i = position; i < work->used; i++)
        work->next_words[i] = (uint32_t)at;
    return add_shingles(work, position);
}

/* Reads the tokens of a text whose characters have the given kind, a constant where called. */
static ALWAYS_INLINE int
read_text_of(Work *work, PyObject *text, int kind)
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
                if (fold(work->state, PyUnicode_READ(kind, data, at), &folded) < 0)
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
        if (work->follow != NONE && (at = follow_words(work, at)) < 0)
            return -1;
    }
    return 0;
}

static int
read_text(Work *work, PyObject *text)
{
    if ((size_t)PyUnicode_GET_LENGTH(text) >= NONE - 1) {
        PyErr_NoMemory();
        return -1;
    }
    work->follow = NONE;
    work->texts[work->texts_used++] = (Text){PyUnicode_KIND(text), PyUnicode_DATA(text),
                                             PyUnicode_GET_LENGTH(text), work->used};
    switch (PyUnicode_KIND(text)) {
    case PyUnicode_1BYTE_KIND:
        return read_text_of(work, text, PyUnicode_1BYTE_KIND);
    case PyUnicode_2BYTE_KIND:
        return read_text_of(work, text, PyUnicode_2BYTE_KIND);
    default:
        return read_text_of(work, text, PyUnicode_4BYTE_KIND);
    }
}

/* ---------------------------------------------------------------------- module */

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
        if (read_text(work, texts[i]) < 0)
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
"Returns three numbers of tokens and eight of shingles, as selection.text.overlap has them.\n"
"keys are KEY_BYTES bytes that whoever wrote the texts cannot know.");

static PyObject *
measure(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (count != TEXTS + 1) {
        PyErr_SetString(PyExc_TypeError, "measure takes three texts and the keys");
        return NULL;
    }
    for (int i = 0; i < TEXTS; i++) {
        if (!PyUnicode_Check(args[i])) {
            PyErr_SetString(PyExc_TypeError, "a text is a str");
            return NULL;
        }
    }
    uint64_t keys[KEYS];
    if (!PyBytes_Check(args[TEXTS]) || PyBytes_GET_SIZE(args[TEXTS]) != sizeof keys) {
        PyErr_SetString(PyExc_ValueError, "keys are KEY_BYTES bytes");
        return NULL;
    }
    memcpy(keys, PyBytes_AS_STRING(args[TEXTS]), sizeof keys);

    Work work = {.state = PyModule_GetState(module), .keys = keys, .token_bits = 10,
                 .shingle_bits = 9};
    /* Words have about six characters: long texts begin with tables of about their size. */
    while (work.shingle_bits < 30 &&
           PyUnicode_GET_LENGTH(args[0]) / 6 >= (Py_ssize_t)1 << work.shingle_bits)
        work.shingle_bits++;
    Py_ssize_t tokens[TEXTS];
    PyObject *result = NULL;
    if (enlarge_token_slots(&work) == 0 && enlarge_shingle_slots(&work) == 0 &&
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
"Whether a text has a character without which it has no reference, tag, link or image.");

/* The inner loop has a fixed length and no branch, so that it becomes vector instructions; so it
   does not if the three comparisons are one expression, which becomes a test of bits. */
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
has_markup(PyObject *module, PyObject *text)
{
    if (!PyUnicode_Check(text)) {
        PyErr_SetString(PyExc_TypeError, "a text is a str");
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
start(PyObject *module)
{
    State *state = PyModule_GetState(module);
    state->fold_page = imported("selection.text.fold_table", "fold_page");
    if (state->fold_page == NULL)
        return -1;
    state->cached_tokens = imported("selection.text.tokens", "cached_tokens");
    if (state->cached_tokens == NULL)
        return -1;
    return PyModule_AddIntConstant(module, "KEY_BYTES", KEYS * sizeof(uint64_t));
}

static int
traverse(PyObject *module, visitproc visit, void *arg)
{
    State *state = PyModule_GetState(module);
    Py_VISIT(state->fold_page);
    Py_VISIT(state->cached_tokens);
    return 0;
}

static int
clear(PyObject *module)
{
    State *state = PyModule_GetState(module);
    Py_CLEAR(state->fold_page);
    Py_CLEAR(state->cached_tokens);
    return 0;
}

static void
release(void *module)
{
    State *state = PyModule_GetState(module);
    clear(module);
    for (int i = 0; i < PAGES; i++)
        PyMem_RawFree(state->pages[i]);
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, start},
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "selection.text._native",
    .m_doc = "The compiled measure.",
    .m_size = sizeof(State),
    .m_methods = methods,
    .m_slots = slots,
    .m_traverse = traverse,
    .m_clear = clear,
    .m_free = release,
};

PyMODINIT_FUNC
PyInit__native(void)
{
    return PyModuleDef_Init(&definition);
}
