/* The columns of candidates, a row of doubles each: ``Row`` in ranking.py, in this order. NaN is a
missing number. */

#ifndef SLOWCAT_CANDIDATE_ROWS_H
#define SLOWCAT_CANDIDATE_ROWS_H

enum row {
    WINDOW, TURN, DENSE, KEYS, ASKED, COSINE, BEFORE, AFTER, AT, IMPORTANCE, SUBSTANCE, AGENT,
    PINNED, SESSION, SPEAKER, ABOUT_FROM, ABOUT_UNTIL, VISIBLE
};

enum { ROWS = VISIBLE + 1 };

#endif
