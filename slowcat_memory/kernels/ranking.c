/* Scores and order of the candidates of a query. The definition is core/ranking/rank.py, in NumPy.

A block holds a row of doubles for each column of the candidates, n each; ranking.py has the same
rows, fields and order. NaN is a missing number. */

#include "candidate_rows.h"
#include "kernels.h"

enum result { /* the views first, those that the enumeration above has in the same place */
    OF_WINDOW, OF_TURN, OF_DENSE, OF_KEYS, OF_ASKED, OF_SESSION,
    SCORE, COVERAGE, PROBABILITY, PRIOR, SCRATCH /* to the end */
};

enum { OF_TOKENS = OF_SESSION + 1, VIEW_COUNT }; /* a view that only rank_candidates makes */

struct weights {
    double dense, tokens, window, turn, turn_by_words, keys, keys_long, turn_with_keys,
        window_with_keys, session, smoothing;
    double importance, recency, half_life_days, pinned, named, when, with_keys, asked;
    double softness, least_scale, most_scale, unrelated_key, unrelated_tokens;
};

struct question {
    double now, ceiling, by_words_bias, by_words_coverage, bias, coverage, cosine;
    int64_t views, long_turns, every, speakers, times;
    const double *speaker, *time; /* numbers; starts and ends in turn */
};

static int has(const struct question *question, int view)
{
    return (int)(question->views >> view & 1);
}

/* ------------------------------------------------------------------- views */

/* Scale scores of 0 or more so that the best is 1; all 0 where none is above 0. */
static void by_maximum(const double *restrict scores, int64_t n, double *restrict scaled)
{
    double best = 0;
    for (int64_t i = 0; i < n; i++)
        best = scores[i] > best ? scores[i] : best;
    for (int64_t i = 0; i < n; i++)
        scaled[i] = best > 0 ? scores[i] / best : 0.0;
}

/* Scale cosines so that ``zero`` becomes 0 and the best 1; NaN counts as ``zero``. */
static void by_cosine(const double *restrict scores, int64_t n, double zero, double *restrict scaled,
                      double *restrict scratch)
{
    for (int64_t i = 0; i < n; i++)
        scratch[i] = scores[i] > zero ? scores[i] - zero : 0.0;
    by_maximum(scratch, n, scaled);
}

/* Number the sessions from 0 in the order in which they occur; return how many there are.
``table`` has room for ``size`` entries, a power of two and at least 2 n. */
static int32_t number_sessions(const double *session, int64_t n, int32_t *number, int32_t *first,
                               int32_t *table, uint64_t size)
{
    int32_t found = 0;
    memset(table, -1, size * sizeof *table);
    for (int64_t i = 0; i < n; i++) {
        uint64_t place = (uint64_t)(int64_t)session[i] * 0x9e3779b97f4a7c15u >> 32;
        for (;; place++) {
            int32_t *held = table + (place & (size - 1));
            if (*held < 0) {
                *held = found;
                first[found++] = (int32_t)i;
            }
            if (session[first[*held]] == session[i]) {
                number[i] = *held;
                break;
            }
        }
    }
    return found;
}

/* Score each candidate by the three best of its session, so that the best is 1. ``best`` has room
for three numbers a session. */
static void by_session(const double *scores, int squared, const int32_t *number, int64_t n,
                       int32_t sessions, double *best, double *scaled)
{
    memset(best, 0, 3 * (size_t)sessions * sizeof *best);
    for (int64_t i = 0; i < n; i++) {
        double *held = best + 3 * number[i], score = squared ? scores[i] * scores[i] : scores[i];
        double first = held[0], second = held[1], third = held[2];
        double rest = score < first ? score : first, last = rest < second ? rest : second;
        held[0] = score > first ? score : first;
        held[1] = rest > second ? rest : second;
        held[2] = last > third ? last : third;
    }
    double most = 0;
    for (int32_t s = 0; s < sessions; s++) {
        best[s] = best[3 * s] + best[3 * s + 1] + best[3 * s + 2];
        most = best[s] > most ? best[s] : most;
    }
    for (int64_t i = 0; i < n; i++)
        scaled[i] = most > 0 ? best[number[i]] / most : 0.0;
}

static void normalise(const double *in, int64_t n, const struct question *question,
                      const struct weights *weights, const uint8_t *counts, double *out)
{
    double *scratch = out + SCRATCH * n, *raw = scratch + 7 * n;
    for (int view = WINDOW; view <= ASKED; view++) {
        double missing = view == DENSE || view == KEYS ? NAN : 0.0, *scaled = out + view * n;
        if (!has(question, view))
            continue;
        for (int64_t i = 0; i < n; i++)
            raw[i] = counts[i] ? in[view * n + i] : missing;
        if (view == WINDOW || view == TURN)
            by_maximum(raw, n, scaled);
        else if (view == ASKED)
            for (int64_t i = 0; i < n; i++)
                scaled[i] = raw[i] < -1 ? -1 : raw[i] > 1 ? 1 : raw[i];
        else
            by_cosine(raw, n, view == KEYS ? weights->unrelated_key : 0.0, scaled, scratch);
    }
    uint64_t size = 1;
    while (size < 2 * (uint64_t)n)
        size *= 2;
    int32_t *table = (int32_t *)scratch, *number = table + size, *first = number + n;
    double *best = scratch + 4 * n, *session = out + OF_SESSION * n;
    int32_t sessions = number_sessions(in + SESSION * n, n, number, first, table, size);
    by_session(out + OF_WINDOW * n, 0, number, n, sessions, best, session);
    if (has(question, DENSE)) {
        by_session(out + OF_DENSE * n, 1, number, n, sessions, best, raw);
        for (int64_t i = 0; i < n; i++)
            session[i] = (2 * session[i] + raw[i]) / 3;
    }
}

/* ------------------------------------------------------------------- fusion */

/* Return the share of the candidates that have a key. */
static double keyed_share(const double *in, int64_t n, const struct question *question,
                          const uint8_t *counts)
{
    int64_t counted = 0, keyed = 0;
    if (!has(question, KEYS))
        return 0.0;
    for (int64_t i = 0; i < n; i++) {
        counted += counts[i];
        keyed += counts[i] && !isnan(in[KEYS * n + i]);
    }
    return counted ? (double)keyed / (double)counted : 0.0;
}

/* The weighted mean of the views, with a share of the neighbours' where turns are short, and the
priors. ``scored`` has the other results; ``tokens`` is NULL without tokens, ``fused`` is scratch. */
static void fuse(const double *in, int64_t n, const struct question *question,
                 const struct weights *weights, const uint8_t *counts, const double *scored,
                 const double *tokens, double *restrict fused, double *restrict score)
{
    double weight[VIEW_COUNT], total = 0, keyed = keyed_share(in, n, question, counts);
    int used[VIEW_COUNT];
    weight[OF_WINDOW] = weights->window + keyed * (weights->window_with_keys - weights->window);
    weight[OF_TURN] = has(question, DENSE)
        ? weights->turn + keyed * (weights->turn_with_keys - weights->turn)
        : weights->turn_by_words;
    weight[OF_DENSE] = weights->dense;
    weight[OF_KEYS] = keyed * (question->long_turns ? weights->keys_long : weights->keys);
    weight[OF_SESSION] = weights->session;
    weight[OF_TOKENS] = weights->tokens;
    for (int view = 0; view < VIEW_COUNT; view++) {
        used[view] = view == OF_SESSION || (view == OF_TOKENS ? tokens != NULL : has(question, view));
        used[view] = used[view] && view != OF_ASKED;
        total += used[view] ? weight[view] : 0.0;
    }
    if (total == 0) /* all the weight is on missing views */
        for (int view = 0; view < VIEW_COUNT; view++) {
            weight[view] = 1;
            total += used[view];
        }
    memset(fused, 0, (size_t)n * sizeof *fused);
    for (int view = 0; view < VIEW_COUNT; view++) {
        const double *scores = view == OF_TOKENS ? tokens : scored + view * n, w = weight[view] / total;
        for (int64_t i = 0; used[view] && i < n; i++)
            fused[i] += w * scores[i];
    }
    double share = question->long_turns ? 0.0 : weights->smoothing * (1 - keyed) * (1 - keyed);
    const double *before = in + BEFORE * n, *after = in + AFTER * n;
    for (int64_t i = 0; i < n; i++) {
        score[i] = fused[i];
        if (share > 0) {
            int64_t b = (int64_t)before[i], a = (int64_t)after[i];
            double near = b >= 0 && counts[b] ? fused[b] : 0.0;
            near += a >= 0 && counts[a] ? fused[a] : 0.0;
            score[i] = (score[i] + share * near) / (1 + 2 * share);
        }
        score[i] += scored[PRIOR * n + i];
    }
}

/* ------------------------------------------------------------------- priors */

/* How near a memory is to the times that the query names: by when it was said, and by the time
that it mentions. */
static double closeness(double at, double from, double until, const struct question *question,
                        const struct weights *weights)
{
    double near = 0, shared = 0, length = until - from;
    for (int64_t k = 0; k < question->times; k++) {
        double start = question->time[2 * k], end = question->time[2 * k + 1];
        double outside = fmax(fmax(start - at, at - end), 0.0);
        double scale = weights->softness * (end - start);
        scale = fmin(fmax(scale, weights->least_scale), weights->most_scale);
        near = fmax(near, exp2(outside / -scale));
        if (!isnan(length)) {
            double common = fmin(until, end) - fmax(from, start);
            shared = fmax(shared, common / fmin(length, end - start));
        }
    }
    return near + shared;
}

static void add_priors(const double *in, int64_t n, const struct question *question,
                       const struct weights *weights, double keyed, double *out)
{
    double less = 1 - keyed * (1 - weights->with_keys), *prior = out + PRIOR * n;
    for (int64_t i = 0; i < n; i++) {
        double days = fmax(0.0, (question->now - in[AT * n + i]) / 86400);
        double recency = weights->half_life_days > 0 ? exp2(-days / weights->half_life_days) : 0;
        double pinned = in[PINNED * n + i], named = 0, asked = 0, when = 0;
        for (int64_t k = 0; k < question->speakers; k++)
            named = question->speaker[k] == in[SPEAKER * n + i] ? 1 : named;
        if (question->times)
            when = closeness(in[AT * n + i], in[ABOUT_FROM * n + i], in[ABOUT_UNTIL * n + i],
                             question, weights);
        if (has(question, ASKED)) {
            asked = in[ASKED * n + i];
            asked = isnan(asked) ? 0 : fmin(fmax(asked, pinned > 0 ? 0.0 : -1.0), 1.0);
        }
        prior[i] = weights->importance * (2 * in[IMPORTANCE * n + i] - 1)
            + less * weights->recency * recency + weights->pinned * pinned
            + less * (weights->named * named + weights->when * when) + weights->asked * asked;
    }
}

static void add_probability(const double *in, int64_t n, const struct question *question, double *out)
{
    double ceiling = fmax(question->ceiling, 1e-9);
    for (int64_t i = 0; i < n; i++) {
        double coverage = in[WINDOW * n + i] / ceiling, cosine = in[COSINE * n + i];
        double logit = !has(question, DENSE) || isnan(cosine)
            ? question->by_words_bias + question->by_words_coverage * coverage
            : question->bias + question->coverage * coverage + question->cosine * cosine;
        out[COVERAGE * n + i] = coverage;
        out[PROBABILITY * n + i] = 1 / (1 + exp(-logit));
    }
}

/* ------------------------------------------------------------------- order */

enum { RUN = 128 };

struct place {
    double score;
    int64_t position;
};

/* Sort up to RUN scores by counting for each what comes before it: no branch depends on scores,
which no processor could predict, and eight are compared at once. */
static void sort_run(const double *score, const int64_t *position, int64_t n, struct place *sorted)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t before = 0;
        for (int64_t j = 0; j < i; j++)
            before += score[j] >= score[i];
        for (int64_t j = i + 1; j < n; j++)
            before += score[j] > score[i];
        sorted[before] = (struct place){score[i], position[i]};
    }
}

static void merge(const struct place *left, const struct place *right, const struct place *end,
                  struct place *to)
{
    const struct place *middle = right;
    while (left < middle && right < end)
        *to++ = left->score >= right->score ? *left++ : *right++;
    while (left < middle)
        *to++ = *left++;
    while (right < end)
        *to++ = *right++;
}

/* Sort positions by their scores, best first and NaN last; equal ones stay in order. ``scratch``
has room for four numbers a position. */
static void sort(const double *score, int64_t *order, int64_t count, double *scratch)
{
    struct place *from = (struct place *)scratch, *to = from + count;
    for (int64_t start = 0; start < count; start += RUN) {
        double run[RUN];
        int64_t n = start + RUN < count ? RUN : count - start;
        for (int64_t i = 0; i < n; i++) {
            double one = score[order[start + i]];
            run[i] = isnan(one) ? -INFINITY : one;
        }
        sort_run(run, order + start, n, from + start);
    }
    for (int64_t width = RUN; width < count; width *= 2) {
        for (int64_t start = 0; start < count; start += 2 * width) {
            int64_t middle = start + width < count ? start + width : count;
            int64_t end = middle + width < count ? middle + width : count;
            merge(from + start, from + middle, from + end, to + start);
        }
        struct place *other = from;
        from = to, to = other;
    }
    for (int64_t i = 0; i < count; i++)
        order[i] = from[i].position;
}

/* ------------------------------------------------------------------- steps */

/* Score n candidates by everything but their tokens. ``out`` gets the rows of ``enum result``,
``counts`` n bytes, and ``order`` the positions of those that count, best first. Return how many. */
KERNEL(int64_t, score_candidates)(const double *in, int64_t n, const struct weights *weights,
                                  const struct question *question, double *out, uint8_t *counts,
                                  int64_t *order)
{
    double *scratch = out + SCRATCH * n, *score = out + SCORE * n;
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) {
        counts[i] = question->every || in[VISIBLE * n + i] == 0;
        if (counts[i])
            order[count++] = i;
    }
    normalise(in, n, question, weights, counts, out);
    add_priors(in, n, question, weights, keyed_share(in, n, question, counts), out);
    add_probability(in, n, question, out);
    fuse(in, n, question, weights, counts, out, NULL, scratch, score);
    sort(score, order, count, scratch);
    return count;
}

/* Scale MaxSim to 0..1; one that is not known counts as the worst that is. Return whether any is. */
static int by_tokens(const double *similarity, int64_t n, double zero, double *scaled, double *scratch)
{
    int known = 0;
    double worst = 1;
    by_cosine(similarity, n, zero, scaled, scratch);
    for (int64_t i = 0; i < n; i++)
        if (!isnan(similarity[i])) {
            known = 1;
            worst = scaled[i] < worst ? scaled[i] : worst;
        }
    for (int64_t i = 0; i < n; i++)
        scaled[i] = isnan(similarity[i]) ? worst : scaled[i];
    return known;
}

/* Score by tokens too, and order by what is worth offering. ``scored`` and ``counts`` are from
``score_candidates``; ``similarity`` has the MaxSim of each candidate, or is NULL; ``offer`` the
weights of tokens, session, emptiness and the agent's words. ``out`` gets a row of the tokens' view,
one of scores, and has four more for scratch. Return whether there are tokens. */
KERNEL(int64_t, rank_candidates)(const double *in, int64_t n, const struct weights *weights,
                                 const struct question *question, const double *scored,
                                 const uint8_t *counts, const double *similarity,
                                 const double *offer, double *out, int64_t *order)
{
    double *tokens = out, *score = out + n, *scratch = out + 2 * n;
    int64_t count = 0;
    int known = similarity
        && by_tokens(similarity, n, weights->unrelated_tokens, tokens, scratch);
    if (known)
        fuse(in, n, question, weights, counts, scored, tokens, scratch, score);
    else
        memcpy(score, scored + SCORE * n, (size_t)n * sizeof *score);
    for (int64_t i = 0; i < n; i++) {
        score[i] += offer[1] * scored[OF_SESSION * n + i] + offer[2] * (1 - in[SUBSTANCE * n + i])
            + offer[3] * in[AGENT * n + i];
        if (known)
            score[i] += offer[0] * tokens[i];
        if (counts[i])
            order[count++] = i;
    }
    sort(score, order, count, scratch);
    return known;
}
