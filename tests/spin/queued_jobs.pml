/* The queues of src/stream/loader.h: a job carries the slot's word as it was when the slot was
 * reserved, and may be started only while that word is unchanged. One slot, two records; the step
 * reserves, gives up a queued reservation for another record (a demand takes a bet's slot), drops one
 * (a stale bet), promotes one (a second job in the other queue), and evicts what is resident; two
 * readers take jobs from either queue whenever they like. With io_uring one of them is the step's
 * thread itself, which only makes fewer interleavings possible.
 *
 * Checked in all interleavings: there is one read at a time into the slot; it belongs to the record that
 * the step's book has the slot for; nothing takes the slot away between the start of the read and the
 * step's hearing of its end; the bytes of a READY slot are its record's; and no job is lost: when
 * all is quiet the book has no read in flight.
 *
 * With FORGETFUL the word has no generation: a job that outlived its reservation starts a read that
 * nobody asked for, and the checker must find it. */

#define STEPS 4      /* reservations and the like that the step makes */
#define JOBS 6
mtype = { EMPTY, LOADING, READY };

/* The word. */
mtype phase = EMPTY;
byte generation = 0;
byte key = 0; /* 0: no record */

byte data = 0;
byte writers = 0;

/* The step's book. */
bool in_flight = false;
byte book = 0; /* the record that the slot is for */

/* A job is record * 16 + generation. */
chan demands = [JOBS] of { byte };
chan bets = [JOBS] of { byte };
chan ends = [2] of { byte };

#define JOB (key * 16 + generation)
#ifdef FORGETFUL
#define SAME(job) (key == job / 16)
#define NEXT skip
#else
#define SAME(job) (key == job / 16 && generation == job % 16)
#define NEXT generation++
#endif

proctype Step() {
  byte steps = 0;
  byte job, end;
  do
  :: steps < STEPS && !in_flight -> /* kReserve of a slot that is free or resident */
     steps++;
     d_step { phase != LOADING -> NEXT; phase = EMPTY; key = 1; job = JOB };
     if
     :: skip
     :: d_step { NEXT; key = 2; job = JOB }
     fi;
     book = key; in_flight = true;
     if
     :: demands ! job
     :: bets ! job
     fi
  :: steps < STEPS && in_flight -> /* the slot of a queued read goes to the other record */
     steps++;
     if
     :: d_step { phase == EMPTY && key == book -> NEXT; key = 3 - book; job = JOB };
        book = key;
        demands ! job
     :: else -> skip
     fi
  :: steps < STEPS && in_flight -> /* a queued bet is promoted: the same word in the other queue */
     steps++;
     if
     :: d_step { phase == EMPTY && key == book -> job = JOB };
        demands ! job
     :: else -> skip
     fi
  :: steps < STEPS && in_flight -> /* a stale bet is dropped: kEvict of exactly that word */
     steps++;
     if
     :: d_step { phase == EMPTY && key == book -> NEXT; key = 0 };
        in_flight = false; book = 0
     :: else -> skip
     fi
  :: ends ? end -> /* the step hears of an end */
     assert(in_flight && book == end % 4);
     in_flight = false;
     if
     :: end >= 4 -> assert(phase == READY && key == book && data == book)
     :: else -> book = 0
     fi
  :: steps == STEPS && !in_flight && empty(ends) -> break
  od
}

proctype Reader() {
  byte job, record;
end_idle:
  do
  :: if
     :: demands ? job
     :: bets ? job
     fi;
     if
     :: d_step { phase == EMPTY && SAME(job) -> phase = LOADING }; /* kStart */
        record = job / 16;
        writers++;
        assert(writers == 1);
        assert(book == record);
        if
        :: data = record;
           writers--;
           d_step { assert(phase == LOADING && key == record); phase = READY }; /* kFill */
           ends ! (record + 4)
        :: data = 0;
           writers--;
           d_step { assert(phase == LOADING && key == record); phase = EMPTY; key = 0; NEXT };
           ends ! record
        fi
     :: else -> skip /* stale */
     fi
  od
}

init { atomic { run Step(); run Reader(); run Reader() } }
