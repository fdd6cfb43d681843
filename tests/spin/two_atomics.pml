/* The protocol that slot.h replaces: phase and key in one atomic place, the count of readers in
 * another. A claimer compares the key, then takes the slot in a second step; a loader looks at the
 * count, then takes the slot in a second step. The checker must find the claimer that computes with
 * another record's bytes. */

mtype = { EMPTY, LOADING, READY, CONSUMED };

mtype phase = EMPTY;
byte key = 0;
byte readers = 0;
byte data = 0;

proctype Claimer(byte wanted) {
  bool held;
  if
  :: key == wanted ->
     d_step {
       held = false;
       if
       :: phase == READY -> phase = CONSUMED; held = true
       :: else -> skip
       fi
     };
     if
     :: held -> readers++; assert(data == wanted); readers--
     :: else -> skip
     fi
  :: else -> skip
  fi
}

proctype Loader(byte wanted) {
  bool mine;
  if
  :: readers == 0 ->
     d_step {
       mine = false;
       if
       :: phase != LOADING -> phase = LOADING; mine = true
       :: else -> skip
       fi
     };
     if
     :: mine -> key = wanted; data = wanted; phase = READY
     :: else -> skip
     fi
  :: else -> skip
  fi
}

init {
  atomic {
    run Claimer(1); run Claimer(2); run Claimer(1);
    run Loader(1); run Loader(2)
  }
}
