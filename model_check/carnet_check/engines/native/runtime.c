/* A breadth-first search over the states of one model, in threads. The model stands before this text:

   WORDS           words of a state; the lowest bits of the first count what the adversary has spent
   SPENT           these bits, where a state is dominated by the same one at less cost; otherwise 0
   WIDTH           words of a row, as which a state is kept
   BITS            bits of the code that a word of a state has in a row, or 64 if it is there as it is
   PLACE(w)        where this code is: 64 times the word of the row, and the bits before it
   STEPS, MONITORS how many steps there are, and things that are looked for
   ALIKE           whether elements are interchangeable; alike.h then stands before what uses it:
   BUNDLES, CLASSES, LENGTH, SHARED  how many bundles are alike, in how many classes, how many words the number of each
                   has at most, and how many words of a state say something of several bundles
   classes[class]  the first bundle of a class, and after the last class BUNDLES
   shared_at[i], shared_bits[i]  such a word, and its bits that do
   number_bundles(s, numbers), place_bundles(s, numbers, order)  what a state says of each bundle, and a state that says
                   of the bundles in their order what numbers say
   PARTS           how many parts own the states
   MOST_STATES     how many a part may have
   NUMBERS         bits that the number of a state has at least in the table by which it is found
   QUICK           whether the model is to be compiled in less time, for slower code
   BATCH           how many states are handed over at once
   MISSES          of how many states it is noted at once that it is not known what stands for them
   ROOM, VALUES    for how many states of a part, and values of a word, there is room at first; VALUES is a power of two
   foreign(s)      whether a state has bits that the model does not know
   follow(k)       has emit() for each step from k->s that may be taken; returns whether one writes what has no bits
   affects[step]   which things may be seen after a step and not before; after the step STEPS, any
   sees[thing](s)  whether a thing is seen in a state

   States are owned by their hash. A round has each part enter what it was handed in the round before, then follow some of
   its states, and hand what follows to its owner. So nothing that is found depends on how many threads there are. */


#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { AHEAD = 64 };
enum { DONE, MISSING, CROWDED, NO_MEMORY, STRAY }; /* why a search comes back, or a state is for others to expand */

typedef struct { u64 row[WIDTH]; } row_t;

typedef struct { u64 value, code; } coded_t;

typedef struct { /* the values of one word of a state, by code; code 0 is none */
    u64 *values;
    coded_t *table; /* by hash */
    u64 last, used; /* the last place of the table, and the last code */
    pthread_mutex_t adding;
} words_t;

enum { RECENT = 1 << 12 }; /* how many rows a part has near at hand of those that it met last */

typedef struct { /* states by hash */
    row_t *rows;
    u64 count, room, expanded, level, looked; /* level: where the states of the level that is expanded end */
    u64 level_begin, begun; /* begun: where this round began to expand */
    unsigned char *idle; /* states of this level that are not expanded, if any are not */
#if WIDTH == 1
    u64 *slots; /* rows, or 0 */
#else
    u32 *slots; /* numbers of states, from 1 on, with bits of the hash above them, or 0 */
    u64 numbers;
#endif
    u64 places, mapped, dominated;
    u64 *strays, stray_count, stray_room; /* states that somebody else has to expand */
    u32 *by; /* for each state that was found in this round the step that leads there */
    u64 by_count, by_room;
    int failed;
    row_t recent[RECENT]; /* rows that are there, by hash */
} part_t;

#if ALIKE
#include "alike.h"
enum { RANKS_EACH = 4 }; /* ranks in a word: a rank has 16 bits */
enum { ASKED = SHARED + (BUNDLES + RANKS_EACH - 1) / RANKS_EACH };

typedef struct { /* how a tie is broken; in an empty one the stabilizer is 0 */
    u64 asked[ASKED]; /* shared bits, and the rank of each bundle */
    u64 least[SHARED]; /* the bits that stand for the shared ones */
    u64 stabilizer; /* its size */
} tie_t;
#endif

#define GROUPS (MONITORS / 64 + 1) /* words with a bit for each thing that is looked for */

typedef struct search search_t;

enum { NEAR = 9 }; /* the binary logarithm of how many codes of a word are near at hand */

typedef coded_t near_t[WORDS][1 << NEAR];

typedef struct { /* where one part works */
    u64 s[WORDS], t[WORDS];
    row_t row;
    u64 sum, mixed[WORDS]; /* the hash of the state, and of each of its words */
    near_t *near; /* of the thread that works here */
    search_t *search;
    row_t *boxes[2][PARTS], **box; /* box: those that are filled, while those of the round before are emptied */
    u32 *steps[2][PARTS], **by; /* for each row in a box the step that leads there */
    u64 fills[2][PARTS], *fill;
    u64 first[MONITORS + 1]; /* for each thing that is looked for the first state in which it is seen, from 1 on */
    u64 fired[STEPS + 1], taken[STEPS + 1], take, stopped; /* stopped: why this state has to wait */
    u64 missing[MISSES][WORDS], misses;
#if ALIKE
    u64 numbers[BUNDLES][LENGTH], order[BUNDLES], asked[ASKED]; /* of bundles; asked: the tie of a state */
#endif
    u64 (*offered)[WORDS]; /* where steps from this state lead, if they are offered and not handed over */
} work_t;

struct search {
    part_t parts[PARTS];
    work_t work[PARTS];
    near_t near[PARTS]; /* of each thread */
    words_t words[WORDS];
#if ALIKE
    tie_t *ties; /* those that were broken, by hash */
    u64 tie_places;
#endif
    u32 *log; /* for each round, and each part, how many states were expanded and found by then */
    u64 rounds, log_room;
    u64 until; /* how many states are to be expanded */
    u64 wanted[GROUPS]; /* what is still looked for */
    int threads, why, crowded, handed; /* crowded: a part may have no room for what it is handed next; handed: it was */
    u64 next; /* the next part that no thread has taken in this round */
    u64 begun; /* how many threads have begun */
    int waiting; /* how many threads have come to the end of it */
    u64 turn; /* how often all had */
    pthread_mutex_t gate;
    pthread_cond_t turned;
};

/* -- memory ------------------------------------------------------------------------------------ */

static void *fresh(u64 bytes) {
    void *at = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) return 0;
    madvise(at, bytes, MADV_HUGEPAGE);
    return at;
}

/* -- words and rows ---------------------------------------------------------------------------- */

static inline u64 mix(u64 word, u64 value) { /* 0 for the value 0, so that a wider state has the same hash */
    value *= 0x9E3779B97F4A7C15u + 2 * word;
    value ^= value >> 32;
    return value * (0xFF51AFD7ED558CCDu + 2 * word);
}

static int scarce(const words_t *words) { /* whether there is room for few more values, and can be for more */
    return BITS < 64 && 4 * (words->used + 1) > words->last && !(words->last >> BITS % 64);
}

static inline u64 place_of(const words_t *words, u64 value) {
    u64 at = ((value ^ value >> 29) * 0x9E3779B97F4A7C15u >> 32) & words->last;
    while (__atomic_load_n(&words->table[at].code, __ATOMIC_ACQUIRE) && words->table[at].value != value)
        at = (at + 1) & words->last;
    return at;
}

static u64 code_of(words_t *words, u64 value) { /* 0 if there is no room for one more */
    const coded_t *coded = &words->table[place_of(words, value)];
    u64 code = __atomic_load_n(&coded->code, __ATOMIC_ACQUIRE);
    if (code && coded->value == value) return code; /* an empty place may have been taken for another value meanwhile */
    pthread_mutex_lock(&words->adding);
    u64 at = place_of(words, value);
    code = words->table[at].code;
    if (!code && 2 * (words->used + 1) <= words->last && (words->used + 1) >> BITS % 64 == 0) {
        code = ++words->used;
        words->values[code] = value;
        words->table[at].value = value;
        __atomic_store_n(&words->table[at].code, code, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&words->adding);
    return code;
}

#define FIELD (BITS == 64 ? ~(u64)0 : ((u64)1 << BITS % 64) - 1)
#define MARK ((u64)1 << 63) /* in a row that is one word as it is: no row is 0 */

static inline u64 core(u64 word, u64 value) { return word ? value : value & ~(u64)SPENT; }

static inline void put_code(u64 word, u64 value, u64 code, row_t *row) {
    u64 column = PLACE(word) / 64, shift = PLACE(word) % 64;
    row->row[column] = (row->row[column] & ~(FIELD << shift)) | code << shift;
    if (!word) row->row[0] = (row->row[0] & ~(u64)SPENT) | (value & SPENT);
}

static inline int put(search_t *search, u64 word, u64 value, row_t *row) {
    if (BITS == 64) {
        row->row[PLACE(word) / 64] = value | (WORDS == 1 ? MARK : 0);
        return 1;
    }
    u64 code = code_of(&search->words[word], core(word, value));
    if (code) put_code(word, value, code, row);
    return code != 0;
}

/* The same, where the hash of the word is known: successors have few values, so their codes are near at hand. */
static inline int put_near(work_t *k, u64 word, u64 value, u64 mixed, row_t *row) {
    if (BITS == 64) return put(k->search, word, value, row);
    coded_t *near = &(*k->near)[word][mixed >> (64 - NEAR)];
    u64 bare = core(word, value);
    if (near->value != bare || !near->code) {
        u64 code = code_of(&k->search->words[word], bare);
        if (!code) return 0;
        *near = (coded_t){bare, code};
    }
    put_code(word, value, near->code, row);
    return 1;
}

static inline u64 word_in(const search_t *search, u64 word, const row_t *row) {
    u64 column = PLACE(word) / 64, shift = PLACE(word) % 64;
    if (BITS == 64) return row->row[column] & (WORDS == 1 ? ~MARK : ~(u64)0);
    u64 value = search->words[word].values[row->row[column] >> shift & FIELD];
    return word ? value : value | (row->row[0] & SPENT);
}

static inline u64 hash_of(const row_t *row) {
    u64 h = 0;
    for (u64 column = 0; column < WIDTH; column++) h += mix(column, core(column, row->row[column]));
    h ^= h >> 33;
    h *= 0xC4CEB9FE1A85EC53u;
    return h ^ h >> 29;
}

static inline int same(const row_t *one, const row_t *other) { /* whatever was spent */
    u64 difference = 0;
    for (u64 column = 0; column < WIDTH; column++)
        difference |= core(column, one->row[column]) ^ core(column, other->row[column]);
    return !difference;
}

/* -- states by hash ---------------------------------------------------------------------------- */

static inline u64 home(const part_t *part, u64 h) { return (h >> 32) * part->places >> 32; }
static inline u64 after(const part_t *part, u64 at) { return at + 1 < part->places ? at + 1 : 0; }

/* Find a row from a slot on. Returns 0 if it is there, -1 if it is at less cost, or 1 with the empty slot. */
#if WIDTH == 1
static inline int find(const part_t *part, u64 h, const row_t *row, u64 *at) {
    int cheaper = 0;
    (void)h;
    for (u64 there; (there = part->slots[*at]); *at = after(part, *at))
        if (!((there ^ row->row[0]) & ~(u64)SPENT)) {
            if (there == row->row[0]) return 0;
            cheaper |= (there & SPENT) < (row->row[0] & SPENT);
        }
    return cheaper ? -1 : 1;
}
static inline void enter(part_t *part, u64 h, u64 at, u64 number) {
    (void)h;
    part->slots[at] = part->rows[number].row[0];
}
#else
static inline int find(const part_t *part, u64 h, const row_t *row, u64 *at) {
    int cheaper = 0;
    for (u64 there; (there = part->slots[*at]); *at = after(part, *at)) {
        if ((u32)((there ^ h) & ~part->numbers)) continue;
        const row_t *other = &part->rows[(there & part->numbers) - 1];
        if (!same(row, other)) continue;
        if ((row->row[0] & SPENT) == (other->row[0] & SPENT)) return 0;
        cheaper |= (other->row[0] & SPENT) < (row->row[0] & SPENT);
    }
    return cheaper ? -1 : 1;
}
static inline void enter(part_t *part, u64 h, u64 at, u64 number) {
    part->slots[at] = (u32)((h & ~part->numbers) | (number + 1));
}
#endif

static int make_room(part_t *part, u64 least) { /* room for so many states; 0 if there is no memory for it */
    u64 room = part->room * 7 / 4;
    if (room < least) room = least;
    if (room > MOST_STATES) room = MOST_STATES;
    if (room < least) return 0;
    u64 places = room * 5 / 4 + 16, bytes = places * sizeof *part->slots, held = part->room * sizeof(row_t);
    if (part->slots) munmap(part->slots, part->mapped);
    part->slots = 0;
    row_t *rows = part->rows ? mremap(part->rows, held, room * sizeof(row_t), MREMAP_MAYMOVE)
                             : fresh(room * sizeof(row_t));
    if (!rows || rows == MAP_FAILED) return 0;
    madvise(rows, room * sizeof(row_t), MADV_HUGEPAGE);
    part->rows = rows;
    part->room = room;
    part->slots = fresh(bytes);
    if (!part->slots) return 0;
    part->mapped = bytes;
    part->places = places;
#if WIDTH > 1
    part->numbers = NUMBERS;
    while (part->numbers < room) part->numbers = 2 * part->numbers + 1;
#endif
    u64 hashes[AHEAD];
    for (u64 begin = 0; begin < part->count; begin += AHEAD) {
        u64 end = begin + AHEAD < part->count ? begin + AHEAD : part->count;
        for (u64 i = begin; i < end; i++) {
            hashes[i - begin] = hash_of(&part->rows[i]);
            __builtin_prefetch(&part->slots[home(part, hashes[i - begin])], 1);
        }
        for (u64 i = begin; i < end; i++) {
            u64 at = home(part, hashes[i - begin]);
            while (part->slots[at]) at = after(part, at);
            enter(part, hashes[i - begin], at, i);
        }
    }
    return 1;
}

/* Whether a row was met lately, so that it is there. The first place is not asked: a row of zeros belongs there. */
static inline int met(const part_t *part, u64 h, const row_t *row) {
    const row_t *recent = &part->recent[h % RECENT];
    u64 apart = 0;
    for (u64 column = 0; column < WIDTH; column++) apart |= recent->row[column] ^ row->row[column];
    return h % RECENT && !apart;
}

static void enter_all(part_t *part, const row_t *rows, const u32 *by, u64 count) { /* memory is slow, so all is asked for first */
    u64 hashes[AHEAD], from[AHEAD];
    for (u64 next = 0; next < count;) {
        u64 left = 0;
        for (; next < count && left < AHEAD; next++) {
            hashes[left] = hash_of(&rows[next]);
            from[left] = next;
            if (met(part, hashes[left], &rows[next])) continue;
            __builtin_prefetch(&part->slots[home(part, hashes[left++])], 1);
        }
#if WIDTH > 1
        for (u64 i = 0; i < left; i++) {
            u64 h = hashes[i], at = home(part, h), there;
            while ((there = part->slots[at]) && (u32)((there ^ h) & ~part->numbers)) at = after(part, at);
            if (there) __builtin_prefetch(&part->rows[(there & part->numbers) - 1]);
        }
#endif
        for (u64 i = 0; i < left; i++) {
            const row_t *row = &rows[from[i]];
            u64 at = home(part, hashes[i]);
            int found = find(part, hashes[i], row, &at);
            if (found > 0) {
                part->rows[part->count] = *row;
                enter(part, hashes[i], at, part->count++);
                if (by) part->by[part->by_count++] = by[from[i]];
            }
            if (found >= 0) part->recent[hashes[i] % RECENT] = *row;
            part->dominated += found < 0;
        }
    }
}

/* -- which state stands for others ------------------------------------------------------------- */

#if ALIKE
static inline int compared(const work_t *k, u64 one, u64 other) {
    for (u64 part = LENGTH; part-- > 0;) {
        u64 first = k->numbers[one][part], second = k->numbers[other][part];
        if (first != second) return first > second ? 1 : -1;
    }
    return 0;
}

static int order_bundles(work_t *k, const u64 *state) { /* whether any are not in order already */
    int moved = 0;
    number_bundles(state, k->numbers);
    for (u64 each = 0; each < CLASSES; each++)
        for (u64 bundle = classes[each]; bundle < classes[each + 1]; bundle++) {
            u64 at = bundle;
            for (; at > classes[each] && compared(k, bundle, k->order[at - 1]) > 0; at--, moved = 1)
                k->order[at] = k->order[at - 1];
            k->order[at] = bundle;
        }
    return moved;
}

static tie_t *place_of_tie(const search_t *search, const u64 *asked) { /* the tie that was asked, or the empty one for it */
    u64 h = 0;
    for (u64 word = 0; word < ASKED; word++) h = (h ^ asked[word]) * 0x9E3779B97F4A7C15u, h ^= h >> 32;
    for (u64 at = h & (search->tie_places - 1);; at = (at + 1) & (search->tie_places - 1)) {
        tie_t *tie = &search->ties[at];
        u64 difference = 0;
        for (u64 word = 0; word < ASKED; word++) difference |= tie->asked[word] ^ asked[word];
        if (!tie->stabilizer || !difference) return tie;
    }
}

static const tie_t *tie_of(work_t *k, const u64 *state) { /* what becomes of shared bits, if there are any; see stand */
    u64 shared = 0;
    for (u64 i = 0; i < SHARED; i++) shared |= k->asked[i] = state[shared_at[i]] & shared_bits[i];
    if (!shared) return 0;
    for (u64 word = SHARED; word < ASKED; word++) k->asked[word] = 0;
    for (u64 each = 0; each < CLASSES; each++)
        for (u64 first = classes[each], at = first, rank = 0; at < classes[each + 1]; at++) {
            u64 bundle = k->order[at];
            if (at > first && compared(k, bundle, k->order[at - 1])) rank = at - first;
            k->asked[SHARED + bundle / RANKS_EACH] |= rank << bundle % RANKS_EACH * 16;
        }
    return place_of_tie(k->search, k->asked);
}

/* Change a state into the one that stands for it. Returns 0 if that is the same, 1 if it is not, or -1 if it is not known. */
static inline int stand(work_t *k, u64 *state) {
    int moved = order_bundles(k, state);
    const tie_t *tie = tie_of(k, state);
    if (tie && !tie->stabilizer) return -1;
    if (moved) place_bundles(state, k->numbers, k->order);
    for (u64 i = 0; tie && i < SHARED; i++) {
        u64 changed = (state[shared_at[i]] & shared_bits[i]) ^ tie->least[i];
        state[shared_at[i]] ^= changed;
        moved |= changed != 0;
    }
    return moved;
}
#endif

/* -- what follows a state ---------------------------------------------------------------------- */

/* Hand over the state that a step leads to, which is k->t: the words that are named may differ from those before. A bit
   names a word, and every sixty-fourth after it. */
static void __attribute__((noinline)) emit(work_t *k, u64 named, u64 step) {
    if (k->offered) memcpy(k->offered[k->take], k->t, sizeof k->t);
    k->taken[k->take++] = step;
    if (k->stopped || k->offered) return;
#if ALIKE
    int stands = stand(k, k->t);
    if (stands < 0) {
        k->stopped = MISSING;
        if (k->misses < MISSES) memcpy(k->missing[k->misses++], k->t, sizeof k->t);
        return;
    }
    if (stands) named = ~(u64)0 >> (WORDS < 64 ? 64 - WORDS : 0);
#endif
    row_t row = k->row;
    u64 sum = k->sum, changes = 0;
    for (; named; named &= named - 1)
        for (u64 word = __builtin_ctzll(named); word < WORDS; word += 64) {
            u64 value = k->t[word], was = k->s[word];
            if (value == was) continue;
            changes = 1;
            u64 mixed = mix(word, core(word, value));
            sum += mixed - k->mixed[word];
            if (!put_near(k, word, value, mixed, &row)) {
                k->stopped = CROWDED;
                return;
            }
        }
    if (changes) {
        u64 owner = (sum ^ sum >> 32) % PARTS;
        k->by[owner][k->fill[owner]] = (u32)step;
        k->box[owner][k->fill[owner]++] = row;
    }
}

#if QUICK && defined __GNUC__ && !defined __clang__
#pragma GCC push_options
#pragma GCC optimize("O0")
#endif
#include "model.h"
#if QUICK && defined __GNUC__ && !defined __clang__
#pragma GCC pop_options
#endif

static void unpack(const search_t *search, const row_t *row, u64 *state) {
    for (u64 word = 0; word < WORDS; word++) state[word] = word_in(search, word, row);
}

static u64 sum_of(const u64 *state) {
    u64 sum = 0;
    for (u64 word = 0; word < WORDS; word++) sum += mix(word, core(word, state[word]));
    return sum;
}

static void take_up(work_t *k, const row_t *row) { /* make a state the one that is followed */
    k->row = *row;
    unpack(k->search, row, k->s);
    k->sum = k->take = k->stopped = 0;
    for (u64 word = 0; word < WORDS; word++) k->sum += k->mixed[word] = mix(word, core(word, k->s[word]));
}

static int follow_row(work_t *k, const row_t *row) { /* hand over all that follows, or nothing; say why */
    u64 before[PARTS];
    memcpy(before, k->fill, sizeof before);
    take_up(k, row);
    if (foreign(k->s) || follow(k)) k->stopped = STRAY;
    if (k->stopped) memcpy(k->fill, before, sizeof before);
    else
        for (u64 i = 0; i < k->take; i++) k->fired[k->taken[i]]++;
    return k->stopped;
}

static int note_stray(part_t *part, u64 state) {
    if (part->stray_count == part->stray_room) {
        u64 room = 2 * part->stray_room + 64, *strays = realloc(part->strays, room * sizeof(u64));
        if (!strays) return NO_MEMORY;
        part->strays = strays;
        part->stray_room = room;
    }
    part->strays[part->stray_count++] = state;
    return DONE;
}

static void fill_boxes(work_t *k, u64 turn) { /* begin with empty ones */
    k->box = k->boxes[turn];
    k->by = k->steps[turn];
    k->fill = k->fills[turn];
    memset(k->fill, 0, sizeof *k->fills);
}

static void expand(search_t *search, u64 number, near_t *near) { /* follow states of a part, until it is enough for a round */
    part_t *part = &search->parts[number];
    work_t *k = &search->work[number];
    k->near = near;
    fill_boxes(k, search->rounds % 2);
    u64 full = 0;
    k->misses = 0;
    part->begun = part->expanded;
    while (part->expanded < part->level && !full) {
        if (!(part->idle && part->idle[part->expanded - part->level_begin])) {
            part->failed = follow_row(k, &part->rows[part->expanded]);
            if (part->failed == STRAY) part->failed = note_stray(part, part->expanded);
            if (part->failed) break;
        }
        part->expanded++;
        for (u64 owner = 0; owner < PARTS; owner++) full |= k->fill[owner] >= BATCH;
    }
    if (part->failed == MISSING) { /* ask for what later states lack, too */
        u64 fill[PARTS];
        memcpy(fill, k->fill, sizeof fill);
        for (u64 i = part->expanded + 1; i < part->level && i < part->expanded + BATCH && k->misses < MISSES; i++) {
            if (part->idle && part->idle[i - part->level_begin]) continue;
            take_up(k, &part->rows[i]);
            follow(k);
            memcpy(k->fill, fill, sizeof fill);
        }
    }
}

static void take_in(search_t *search, u64 number) { /* enter what a part was handed in the last round */
    part_t *part = &search->parts[number];
    u64 more = 0, turn = (search->rounds - 1) % 2;
    part->by_count = 0;
    part->looked = part->count; /* what somebody else offered was looked at there */
    for (u64 from = 0; from < PARTS; from++) more += search->work[from].fills[turn][number];
    if (more > part->by_room) {
        u32 *by = realloc(part->by, more * sizeof *by);
        if (by) part->by = by, part->by_room = more;
        else {
            part->failed = NO_MEMORY;
            return;
        }
    }
    int full = part->count + more > part->room;
    int soon = search->crowded && part->count > part->room / 8 * 7 && part->room < MOST_STATES;
    if ((full || soon) && !make_room(part, part->count + more)) {
        part->failed = NO_MEMORY;
        return;
    }
    for (u64 from = 0; from < PARTS; from++) {
        const work_t *k = &search->work[from];
        enter_all(part, k->boxes[turn][number], k->steps[turn][number], k->fills[turn][number]);
    }
}

/* Look at the states that a part found since. What a step does not affect is as it was before, and was looked at there. */
static void look(search_t *search, u64 number) {
    part_t *part = &search->parts[number];
    work_t *k = &search->work[number];
    for (u64 found = 0; found < part->by_count; found++, part->looked++) {
        int unpacked = 0;
        for (u64 group = 0; group < GROUPS; group++)
            for (u64 left = affects[part->by[found]][group] & search->wanted[group]; left; left &= left - 1) {
                u64 monitor = group * 64 + __builtin_ctzll(left);
                if (k->first[monitor]) continue;
                if (!unpacked++) unpack(search, &part->rows[part->looked], k->t);
                if (sees[monitor](k->t)) k->first[monitor] = part->looked + 1;
            }
    }
}

static void log_found(search_t *search) { /* note how many states there are once what was handed over is entered */
    for (u64 number = 0; search->handed && number < PARTS; number++)
        search->log[2 * ((search->rounds - 1) * PARTS + number) + 1] = (u32)search->parts[number].count;
}

static void take_back(search_t *search, u64 number) { /* have a part be as if it had followed nothing in this round */
    part_t *part = &search->parts[number];
    work_t *k = &search->work[number];
    memset(k->fill, 0, sizeof *k->fills);
    while (part->expanded > part->begun) {
        part->expanded--;
        if (part->idle && part->idle[part->expanded - part->level_begin]) continue;
        if (part->stray_count && part->strays[part->stray_count - 1] == part->expanded) {
            part->stray_count--;
            continue;
        }
        take_up(k, &part->rows[part->expanded]);
        k->stopped = CROWDED; /* so that the steps are named, and nothing is handed over */
        follow(k);
        for (u64 i = 0; i < k->take; i++) k->fired[k->taken[i]]--;
    }
}

static void finish_round(search_t *search) {
    u64 open = 0, spread = 0;
    search->next = 0;
    search->crowded = 0;
    log_found(search);
    /* Which part met a word without room depends on who was first, whether one did does not. So none goes on. */
    for (u64 number = 0; number < PARTS; number++)
        if (search->parts[number].failed == CROWDED) search->why = CROWDED;
    for (u64 number = 0; search->why == CROWDED && number < PARTS; number++) take_back(search, number);
    for (u64 word = 0; word < WORDS; word++)
        if (search->why == DONE && scarce(&search->words[word])) search->why = CROWDED;
    for (u64 number = 0; number < PARTS; number++) {
        part_t *part = &search->parts[number];
        search->log[2 * (search->rounds * PARTS + number)] = (u32)part->expanded;
        if (part->failed > search->why) search->why = part->failed;
        open |= part->expanded < part->level;
        spread += part->expanded;
        search->crowded |= part->count + PARTS * BATCH > part->room; /* all grow at once, so that no thread waits */
    }
    search->rounds++;
    search->handed = 1;
    if (search->why == DONE && (!open || spread >= search->until || search->rounds == search->log_room))
        search->why = -1;
}

/* Threads wait for each other for some microseconds many thousand times, so they look before they sleep: for about as long
   as it takes to fall asleep and to be woken. */
enum { LOOKS = 1000 };

static void meet(search_t *search) { /* wait for all threads; the last one finishes the round first */
    u64 turn = __atomic_load_n(&search->turn, __ATOMIC_ACQUIRE);
    if (__atomic_add_fetch(&search->waiting, 1, __ATOMIC_ACQ_REL) == search->threads) {
        finish_round(search);
        search->waiting = 0;
        pthread_mutex_lock(&search->gate);
        __atomic_store_n(&search->turn, turn + 1, __ATOMIC_RELEASE);
        pthread_cond_broadcast(&search->turned);
        pthread_mutex_unlock(&search->gate);
        return;
    }
    for (int looks = 0; looks < LOOKS; looks++) {
        if (__atomic_load_n(&search->turn, __ATOMIC_ACQUIRE) != turn) return;
#if defined __x86_64__
        __builtin_ia32_pause();
#endif
    }
    pthread_mutex_lock(&search->gate);
    while (__atomic_load_n(&search->turn, __ATOMIC_ACQUIRE) == turn) pthread_cond_wait(&search->turned, &search->gate);
    pthread_mutex_unlock(&search->gate);
}

static u64 next_part(search_t *search) { return __atomic_fetch_add(&search->next, 1, __ATOMIC_RELAXED); }

static void *rounds(void *given) {
    search_t *search = given;
    near_t *near = &search->near[__atomic_fetch_add(&search->begun, 1, __ATOMIC_RELAXED)];
    pthread_mutex_lock(&search->gate); /* until all threads are there */
    pthread_mutex_unlock(&search->gate);
    if (search->why != DONE) return 0;
    for (;;) {
        for (u64 number; (number = next_part(search)) < PARTS;) {
            part_t *part = &search->parts[number];
            if (search->handed && part->failed != NO_MEMORY) {
                take_in(search, number);
                look(search, number);
            }
            if (search->why == DONE && part->failed == DONE) expand(search, number, near);
        }
        if (search->why != DONE) return 0;
        meet(search);
    }
}

/* -- random walks ------------------------------------------------------------------------------ */

typedef struct { /* walks, one after the other, and what memos were asked on them */
    const u64 *start;
    u64 *state, chance, number, taken, steps, longest, stuck; /* which walk it is, and how far it came */
    u64 walks, depth, seed;
    const u64 *rank; /* of each step its place among all that may be offered */
    const u64 *reads; /* the bits that each memo reads */
    u64 memos;
    u64 *asked, places, count; /* hashes of what memos were asked; 0 is none */
    u64 *fresh, fresh_count, fresh_room; /* what they were not asked yet: a memo, and a state */
    u64 *seen; /* what was seen at all, as bits */
    u64 *offered;
} walks_t;

enum { GO_ON, SIGHTED, ASK, LEFT, OVER }; /* why walks come back: LEFT: the next step is for others to take */

static u64 spread(u64 word) { /* SplitMix64 */
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9u;
    word = (word ^ word >> 27) * 0x94D049BB133111EBu;
    return word ^ word >> 31;
}

static const u64 STRIDE = 0x9E3779B97F4A7C15u;

static u64 below(walks_t *walks, u64 bound) {
    walks->chance += STRIDE;
    return (spread(walks->chance) >> 32) * bound >> 32;
}

static int end_walk(walks_t *walks) { /* whether it was the last one */
    if (walks->taken > walks->longest) walks->longest = walks->taken;
    walks->number++;
    walks->taken = 0;
    memcpy(walks->state, walks->start, WORDS * sizeof(u64));
    walks->chance = spread(walks->seed) ^ spread(spread(walks->number) + STRIDE);
    return walks->number == walks->walks;
}

static void note_questions(walks_t *walks, const u64 *state, const u64 *before) { /* of memos that read what changed */
    for (u64 memo = 0; memo < walks->memos; memo++) {
        const u64 *reads = walks->reads + memo * WORDS;
        u64 changed = !before, h = memo + 1;
        for (u64 word = 0; word < WORDS && !changed; word++) changed = (state[word] ^ before[word]) & reads[word];
        if (!changed) continue;
        for (u64 word = 0; word < WORDS; word++) h = spread(h + STRIDE) ^ (state[word] & reads[word]);
        h = spread(h) | 1;
        u64 at = h >> 8 & (walks->places - 1);
        while (walks->asked[at] && walks->asked[at] != h) at = (at + 1) & (walks->places - 1);
        if (walks->asked[at]) continue;
        walks->asked[at] = h;
        walks->count++;
        u64 *fresh = walks->fresh + walks->fresh_count++ * (1 + WORDS);
        fresh[0] = memo;
        memcpy(fresh + 1, state, WORDS * sizeof(u64));
    }
}

static u64 *draw(work_t *k, walks_t *walks) { /* a step that changes the state, each as likely as any other */
    u64 left = k->take, order[STEPS + 1];
    for (u64 i = 0; i < left; i++) {
        u64 at = i, rank = walks->rank[k->taken[i]];
        for (; at > 0 && walks->rank[k->taken[order[at - 1]]] > rank; at--) order[at] = order[at - 1];
        order[at] = i;
    }
    while (left) {
        u64 place = below(walks, left);
        u64 *after = k->offered[order[place]];
        if (memcmp(after, k->s, sizeof k->s)) {
            k->fired[k->taken[order[place]]]++;
            return after;
        }
        order[place] = order[--left];
    }
    return 0;
}

/* Take so many steps, or until something is seen that is wanted, or memos have questions, or a step is for others. */
int walk(search_t *search, walks_t *walks, u64 most, const u64 *wanted) {
    work_t *k = &search->work[0];
    const u64 *before = 0;
    u64 by = STEPS; /* the step that leads to this state, if it was taken here */
    k->offered = (u64(*)[WORDS])walks->offered;
    for (u64 n = 0; n < most; n++) {
        memcpy(k->s, walks->state, sizeof k->s);
        if (foreign(k->s)) return LEFT;
        u64 sighted = 0;
        for (u64 group = 0; group < GROUPS; group++)
            for (u64 left = affects[by][group]; left; left &= left - 1) {
                u64 monitor = group * 64 + __builtin_ctzll(left), bit = left & -left;
                if (!sees[monitor](k->s)) continue;
                walks->seen[group] |= bit;
                sighted |= wanted[group] & bit;
            }
        if (sighted) return SIGHTED;
        if (walks->fresh_count + walks->memos > walks->fresh_room || 2 * (walks->count + walks->memos) > walks->places)
            return ASK;
        u64 *after = 0;
        if (walks->taken < walks->depth) {
            note_questions(walks, k->s, before);
            k->take = k->stopped = 0;
            if (follow(k) || k->stopped) return LEFT;
            after = draw(k, walks);
            walks->stuck += !after;
        }
        before = after ? k->t : 0;
        by = after ? k->taken[(after - *k->offered) / WORDS] : STEPS;
        if (after) {
            memcpy(k->t, k->s, sizeof k->t);
            memcpy(walks->state, after, sizeof k->s);
            walks->taken++;
            walks->steps++;
        } else if (end_walk(walks)) return OVER;
    }
    return GO_ON;
}

/* -- what is called ---------------------------------------------------------------------------- */

void finish(search_t *search) { /* give all memory back */
    for (u64 number = 0; number < PARTS; number++) {
        part_t *part = &search->parts[number];
        if (part->rows) munmap(part->rows, part->room * sizeof(row_t));
        if (part->slots) munmap(part->slots, part->mapped);
        free(part->idle);
        free(part->strays);
        free(part->by);
        for (u64 box = 0; box < 2 * PARTS; box++) {
            free(search->work[number].boxes[box / PARTS][box % PARTS]);
            free(search->work[number].steps[box / PARTS][box % PARTS]);
        }
    }
    for (u64 word = 0; word < WORDS; word++) free(search->words[word].values), free(search->words[word].table);
#if ALIKE
    free(search->ties);
#endif
    free(search->log);
    free(search);
}

static int more_values(words_t *words) { /* make room for twice as many values; 0 if there is no memory */
    u64 last = 2 * words->last + 1;
    u64 *values = realloc(words->values, (last / 2 + 2) * sizeof *values);
    if (values) words->values = values;
    coded_t *table = values ? calloc(last + 1, sizeof *table) : 0;
    if (!table) return 0;
    free(words->table);
    words->table = table;
    words->last = last;
    for (u64 code = 1; code <= words->used; code++)
        table[place_of(words, values[code])] = (coded_t){values[code], code};
    return 1;
}

int grow(search_t *search, u64 word) { /* make room for more values where there is little: 1 if so, -1 without memory */
    words_t *words = &search->words[word];
    return scarce(words) ? more_values(words) ? 1 : -1 : 0;
}

#if ALIKE
int more_ties(search_t *search, u64 places) { /* make room for more ties; 0 if there is no memory */
    tie_t *before = search->ties, *end = before + search->tie_places, *ties = calloc(places, sizeof *ties);
    if (!ties) return 0;
    search->ties = ties;
    search->tie_places = places;
    for (tie_t *tie = before; tie < end; tie++)
        if (tie->stabilizer) *place_of_tie(search, tie->asked) = *tie;
    free(before);
    return 1;
}
#endif

search_t *begin(u64 threads) {
    search_t *search = calloc(1, sizeof *search);
    if (!search) return 0;
    search->threads = (int)(threads < PARTS ? threads : PARTS);
    int fine = 1;
#if ALIKE
    fine &= more_ties(search, 1 << 8);
#endif
    for (u64 word = 0; word < WORDS; word++) {
        pthread_mutex_init(&search->words[word].adding, 0);
        search->words[word].last = VALUES - 1;
        fine &= more_values(&search->words[word]);
    }
    for (u64 number = 0; number < PARTS; number++) {
        work_t *k = &search->work[number];
        k->search = search;
        k->near = &search->near[0];
        for (u64 turn = 0; turn < 2; turn++)
            for (u64 owner = 0; owner < PARTS; owner++) {
                k->boxes[turn][owner] = malloc((BATCH + STEPS + 1) * sizeof(row_t));
                k->steps[turn][owner] = malloc((BATCH + STEPS + 1) * sizeof(u32));
                fine &= k->boxes[turn][owner] && k->steps[turn][owner];
            }
        fine &= make_room(&search->parts[number], 1 << 12);
    }
    if (fine) return search;
    finish(search);
    return 0;
}

/* Enter states, one after the other, until one finds no code; say whose each is. Returns how many were entered, or ~0 if
   there is no memory. */
u64 add(search_t *search, const u64 *states, u64 count, unsigned char *owners) {
    for (u64 i = 0; i < count; i++, states += WORDS) {
        row_t row = {{0}};
        for (u64 word = 0; word < WORDS; word++)
            if (!put(search, word, states[word], &row)) return i;
        u64 sum = sum_of(states);
        owners[i] = (unsigned char)((sum ^ sum >> 32) % PARTS);
        part_t *part = &search->parts[owners[i]];
        if (part->count == part->room && !make_room(part, part->count + 1)) return ~(u64)0;
        enter_all(part, &row, 0, 1);
        part->looked = part->count; /* by whoever found it */
    }
    return count;
}

/* Enter a state that somebody else found. Returns its owner and, above 8 bits, its number from 1 on; 0 if it is there, -1
   if it is at less cost, -2 if there is no code for it, and -3 if there is no memory. */
long offer(search_t *search, const u64 *state) {
    row_t row = {{0}};
    for (u64 word = 0; word < WORDS; word++)
        if (!put(search, word, state[word], &row)) return -2;
    u64 sum = sum_of(state), owner = (sum ^ sum >> 32) % PARTS;
    part_t *part = &search->parts[owner];
    if (part->count == part->room && !make_room(part, part->count + 1)) return -3;
    u64 h = hash_of(&row), at = home(part, h);
    int found = find(part, h, &row, &at);
    if (found <= 0) return found;
    part->rows[part->count] = row;
    enter(part, h, at, part->count++);
    return (long)(part->count << 8 | owner);
}

u64 strays(search_t *search, u64 number, u64 *states) { /* the states to be expanded by somebody else; they are forgotten */
    part_t *part = &search->parts[number];
    u64 count = part->stray_count;
    if (states) {
        memcpy(states, part->strays, count * sizeof *states);
        part->stray_count = 0;
    }
    return count;
}

#if ALIKE
void note_ties(search_t *search, u64 count, const tie_t *ties) { /* tell how ties are broken; there has to be room */
    for (const tie_t *tie = ties; tie < ties + count; tie++) *place_of_tie(search, tie->asked) = *tie;
}
#endif

void level(search_t *search, const u64 *begins, const u64 *expanded, const u64 *ends) { /* say what is expanded next */
    for (u64 number = 0; number < PARTS; number++) {
        part_t *part = &search->parts[number];
        part->level_begin = begins[number];
        part->expanded = expanded[number];
        part->level = ends[number];
        free(part->idle);
        part->idle = 0;
    }
}

int leave_out(search_t *search, u64 number, u64 state) { /* have a state of this level not be expanded */
    part_t *part = &search->parts[number];
    if (!part->idle) part->idle = calloc(part->level - part->level_begin + 1, 1);
    if (part->idle) part->idle[state - part->level_begin] = 1;
    return part->idle != 0;
}

/* Leave out the states of this level that are there with at least one less spent, too. Returns how many, or -1. */
long pass_over(search_t *search) {
    long passed = 0;
    for (u64 number = 0; number < PARTS; number++) {
        part_t *part = &search->parts[number];
        for (u64 i = part->level_begin; i < part->level; i++) {
            row_t row = part->rows[i];
            if (!(row.row[0] & SPENT)) continue;
            row.row[0] -= 1;
            u64 h = hash_of(&row), at = home(part, h);
            if (find(part, h, &row, &at) > 0) continue;
            if (!leave_out(search, number, i)) return -1;
            passed++;
        }
    }
    return passed;
}

/* Say which states of this level are left out, if there is where to write it. Returns how many. */
u64 left_out(const search_t *search, u64 number, u64 *places) {
    const part_t *part = &search->parts[number];
    u64 count = 0;
    for (u64 i = part->level_begin; part->idle && i < part->level; i++)
        if (part->idle[i - part->level_begin]) {
            if (places) places[count] = i;
            count++;
        }
    return count;
}

/* Expand until so many states are, or the level is; say why it comes back. */
int run(search_t *search, u64 until, const u64 *wanted) {
    if (search->rounds + 2 > search->log_room) {
        u64 room = 2 * search->log_room + 1024;
        u32 *log = realloc(search->log, room * 2 * PARTS * sizeof *log);
        if (!log) return NO_MEMORY;
        search->log = log;
        search->log_room = room;
    }
    pthread_t threads[PARTS];
    search->until = until;
    search->why = DONE;
    search->handed = 0;
    for (u64 number = 0; number < PARTS; number++) search->parts[number].failed = DONE;
    memcpy(search->wanted, wanted, sizeof search->wanted);
    int started = 1;
    search->next = search->begun = 0;
    pthread_mutex_init(&search->gate, 0);
    pthread_cond_init(&search->turned, 0);
    pthread_mutex_lock(&search->gate);
    while (started < search->threads && !pthread_create(&threads[started], 0, rounds, search)) started++;
    if (started < search->threads) search->why = NO_MEMORY;
    pthread_mutex_unlock(&search->gate);
    rounds(search);
    for (int number = 1; number < started; number++) pthread_join(threads[number], 0);
    pthread_cond_destroy(&search->turned);
    pthread_mutex_destroy(&search->gate);
    log_found(search);
    for (u64 number = 0; number < PARTS; number++)
        if (search->parts[number].failed == NO_MEMORY) search->why = NO_MEMORY;
    return search->why < 0 ? DONE : search->why;
}

/* For each part: states, those expanded, those dominated, why it stopped, and where the level begins and ends; then how
   often each step was taken, and where each thing was seen first. */
void counts(const search_t *search, u64 *parts, u64 *fired, u64 *first) {
    memset(fired, 0, STEPS * sizeof *fired);
    for (u64 number = 0; number < PARTS; number++) {
        const part_t *part = &search->parts[number];
        u64 told[] = {part->count, part->expanded, part->dominated, (u64)part->failed, part->level_begin, part->level};
        memcpy(parts + 6 * number, told, sizeof told);
        for (u64 step = 0; step < STEPS; step++) fired[step] += search->work[number].fired[step];
        memcpy(first + number * MONITORS, search->work[number].first, MONITORS * sizeof(u64));
    }
}

u64 held(const search_t *search) { /* the bytes of states and of the tables by which they are found again */
    u64 bytes = 0;
    for (u64 number = 0; number < PARTS; number++)
        bytes += search->parts[number].count * sizeof(row_t) + search->parts[number].mapped;
    return bytes;
}

u64 missing(const search_t *search, u64 number, u64 *states) { /* the states of which it is not known what stands for them */
    memcpy(states, search->work[number].missing, search->work[number].misses * WORDS * sizeof(u64));
    return search->work[number].misses;
}

void states(const search_t *search, u64 number, const u64 *places, u64 count, u64 *out) {
    for (u64 i = 0; i < count; i++) unpack(search, &search->parts[number].rows[places[i]], out + i * WORDS);
}

u64 logged(const search_t *search, u32 *log) { /* the log of rounds, if there is where to write it; how many there are */
    if (log) memcpy(log, search->log, search->rounds * 2 * PARTS * sizeof *log);
    return search->rounds;
}

/* Find the first state of some that another one follows, and mark the steps that lead from it to that. Returns its number
   from 1 on, or 0; ~0 if it is not known yet what stands for a state. */
u64 predecessor(search_t *search, u64 number, u64 first, u64 end, const u64 *target, unsigned char *led) {
    work_t *k = &search->work[number];
    u64 sum = sum_of(target), owner = (sum ^ sum >> 32) % PARTS;
    row_t row = {{0}};
    for (u64 word = 0; word < WORDS; word++)
        if (!put(search, word, target[word], &row)) return 0;
    k->misses = 0;
    for (u64 i = first; i < end; i++) {
        fill_boxes(k, 0);
        u64 fired[STEPS + 1];
        memcpy(fired, k->fired, sizeof fired);
        if (follow_row(k, &search->parts[number].rows[i]) == MISSING) return ~(u64)0;
        memcpy(k->fired, fired, sizeof fired);
        int found = 0;
        for (u64 each = 0; each < k->fill[owner]; each++)
            if (!memcmp(&k->box[owner][each], &row, sizeof row)) found = led[k->by[owner][each]] = 1;
        if (found) return i + 1;
    }
    return 0;
}

#if ALIKE
/* Add up for how many states some stand, with so many permutations; mark those of which that is not known here. */
u64 orbits(search_t *search, u64 number, const u64 *places, u64 count, u64 order, unsigned char *open) {
    work_t *k = &search->work[number];
    u64 total = 0;
    for (u64 i = 0; i < count; i++) {
        unpack(search, &search->parts[number].rows[places[i]], k->t);
        order_bundles(k, k->t);
        u64 ties = 1;
        for (u64 each = 0; each < CLASSES; each++) {
            u64 alike_so_far = 1;
            for (u64 at = classes[each] + 1; at < classes[each + 1]; at++)
                ties *= compared(k, k->order[at], k->order[at - 1]) ? (alike_so_far = 1) : ++alike_so_far;
        }
        const tie_t *tie = tie_of(k, k->t);
        open[i] = foreign(k->t) || (tie && !tie->stabilizer);
        if (!open[i]) total += order / (tie ? tie->stabilizer : ties);
    }
    return total;
}
#endif

/* -- the graph of all states ------------------------------------------------------------------- */

#if WIDTH > 1 /* since only then states are found by number */
static u64 found_at(const part_t *part, const row_t *row) { /* which of the states of a part it is, from 1 on; or 0 */
    u64 h = hash_of(row), at = home(part, h);
    return find(part, h, row, &at) ? 0 : part->slots[at] & part->numbers;
}

/* Find a state. Returns its owner and, above 8 bits, its number there from 1 on; 0 if it was not found. */
u64 find_state(search_t *search, const u64 *state) {
    row_t row = {{0}};
    for (u64 word = 0; word < WORDS; word++)
        if (!put(search, word, state[word], &row)) return 0;
    u64 sum = sum_of(state), owner = (sum ^ sum >> 32) % PARTS;
    u64 place = found_at(&search->parts[owner], &row);
    return place ? place << 8 | owner : 0;
}

/* Write down the steps that change some states: where the steps of each state end, and for each step its target and the
   label of its action; and why a state has none, if steps lead to states that were not found, or are for others to take.
   Returns how many steps there are. */
u64 graph(search_t *search, u64 count, const unsigned char *owners, const u32 *places, const u32 *const *numbers,
          const unsigned short *labels, u64 *ends, u32 *targets, unsigned short *label, unsigned char *why) {
    work_t *k = &search->work[0];
    u64 steps = 0;
    for (u64 i = 0; i < count; i++) {
        fill_boxes(k, 0);
        take_up(k, &search->parts[owners[i]].rows[places[i]]);
        u64 first = steps;
        if (foreign(k->s) || follow(k)) k->stopped = STRAY;
        for (u64 owner = 0; owner < PARTS && !k->stopped; owner++)
            for (u64 each = 0; each < k->fill[owner] && !k->stopped; each++) {
                u64 place = found_at(&search->parts[owner], &k->box[owner][each]);
                if (!place) k->stopped = MISSING;
                else targets[steps] = numbers[owner][place - 1], label[steps++] = labels[k->by[owner][each]];
            }
        if (k->stopped) steps = first;
        why[i] = (unsigned char)k->stopped;
        ends[i] = steps;
    }
    return steps;
}

void states_with(const search_t *search, u64 count, const unsigned char *owners, const u32 *places, u64 monitor,
          unsigned char *marks) { /* mark the states in which a thing is seen */
    u64 state[WORDS];
    for (u64 i = 0; i < count; i++) {
        unpack(search, &search->parts[owners[i]].rows[places[i]], state);
        marks[i] = (unsigned char)sees[monitor](state);
    }
}

/* Number the strongly connected components of a graph (Tarjan): steps from node n are those from begins[n] on. Returns
   whether there was memory. */
int components(u64 size, const u64 *begins, const u32 *targets, u32 *found) {
    u32 *index = calloc(size + 1, sizeof *index), *low = malloc((size + 1) * sizeof *low);
    u32 *open = malloc((size + 1) * sizeof *open), *path = malloc((size + 1) * sizeof *path);
    u64 *next = malloc((size + 1) * sizeof *next);
    int fine = index && low && open && path && next;
    u32 count = 0, made = 0; /* a node that was not met has the index 0 */
    memset(found, 255, size * sizeof *found);
    for (u64 root = 0, opened = 0; fine && root < size; root++) {
        if (index[root]) continue;
        u64 depth = 0;
        path[depth++] = (u32)root;
        while (depth) {
            u32 node = path[depth - 1];
            if (!index[node]) {
                index[node] = low[node] = ++count;
                next[node] = begins[node];
                open[opened++] = node;
            }
            u64 last = begins[node + 1];
            for (; next[node] < last; next[node]++) {
                u32 child = targets[next[node]];
                if (!index[child]) break;
                if (found[child] == ~(u32)0 && low[child] < low[node]) low[node] = low[child];
            }
            if (next[node] < last) {
                path[depth++] = targets[next[node]];
                continue;
            }
            depth--;
            if (low[node] != index[node]) continue;
            do found[open[--opened]] = made;
            while (open[opened] != node);
            made++;
        }
    }
    free(index), free(low), free(open), free(path), free(next);
    return fine;
}
#endif
