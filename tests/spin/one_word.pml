/* The slot protocol of src/stream/slot.h: phase, pins and key stand in one word, so each change is
 * one compare-exchange, which a d_step models. One slot, which two records compete for; three
 * claimers, two loaders whose reads may fail or get stuck, a user who may cancel and a deadline
 * that passes, at any moment.
 *
 * Checked in all interleavings: there is one writer at a time and none while a pin is held; a
 * claimer reads the bytes of the record it asked for; every claimer's wait ends, with its record
 * unless a read failed, was stuck, or was cancelled. */

#define ATTEMPTS 2
mtype = { EMPTY, LOADING, READY, CONSUMED };

/* The word. */
mtype phase = EMPTY;
byte pins = 0;
byte key = 0; /* 0: no record */

/* What the word protects. */
byte data = 0;
byte writers = 0;

byte waiting[3]; /* claimers of a record that have not got it: a fresh record is safe so long */
bool failed[3];  /* its last attempt has failed */
bool cancelled = false;
bool deadline_set;
bool late = false;
bool stuck = false;
byte served = 0;
byte ended = 0;

/* A wait ends by data, error, cancellation or deadline. */
proctype Claimer(byte wanted) {
  if
  :: d_step { /* kPin: needs the bytes and the key in the same exchange */
       (phase == READY || phase == CONSUMED) && key == wanted ->
       phase = CONSUMED; pins++; waiting[wanted]--
     };
     assert(data == wanted);
     assert(writers == 0);
     assert(key == wanted);
     d_step { assert(pins > 0); pins--; served++ } /* kUnpin */
  :: d_step { failed[wanted] -> waiting[wanted]-- }
  :: d_step { cancelled -> waiting[wanted]-- }
  :: d_step { late -> waiting[wanted]-- }
  fi;
  ended++
}

proctype Loader(byte wanted) {
  byte failures = 0;
  do
  :: waiting[wanted] == 0 -> break
  :: d_step { /* kReserve and kStart */
       waiting[wanted] > 0 && key != wanted && phase != LOADING && pins == 0 &&
       (phase == EMPTY || waiting[key] == 0) ->
       phase = LOADING; key = wanted
     };
     writers++;
     assert(writers == 1);
     assert(pins == 0);
     if
     :: data = wanted; /* in two steps, so that a reader could see half of it */
        writers--;
        d_step { assert(phase == LOADING && key == wanted); phase = READY } /* kFill */
     :: data = 0;
        writers--;
        failures++;
        d_step { assert(phase == LOADING && key == wanted); phase = EMPTY; key = 0 }; /* kFail */
        if
        :: failures == ATTEMPTS -> failed[wanted] = true; break
        :: else -> skip
        fi
     :: deadline_set -> stuck = true;
end_stuck:
        false /* the slot stays LOADING */
     fi
  od
}

proctype User() {
  if
  :: cancelled = true
  :: skip
  fi
}

proctype Timer() { late = true }

init {
  atomic {
    waiting[1] = 2; waiting[2] = 1;
    run Claimer(1); run Claimer(1); run Claimer(2);
    run Loader(1); run Loader(2);
    run User();
    if
    :: deadline_set = true; run Timer()
    :: deadline_set = false /* then no read gets stuck, and every wait must end all the same */
    fi
  };
  ended == 3;
  assert(served == 3 || failed[1] || failed[2] || cancelled || late);
  (stuck || _nr_pr == 1); /* loaders and the rest end as well */
  assert(pins == 0);
  assert(stuck || phase != LOADING);
  assert(phase == EMPTY || phase == LOADING || data == key)
}
