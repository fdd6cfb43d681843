# cmake -DNM=... -DOBJECTS=a.o|b.o -P shared_symbols.cmake
# Fails if an object defines a symbol that the linker may take for the whole program.
string(REPLACE "|" ";" objects "${OBJECTS}")
foreach(object IN LISTS objects)
  execute_process(COMMAND ${NM} -C --defined-only ${object}
    OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "[^\n]* [WVu] [^\n]*" shared "${symbols}")
  if(shared)
    list(APPEND found "${object}: ${shared}")
  endif()
endforeach()
if(found)
  message(FATAL_ERROR "shared symbols in instruction-set objects:\n${found}")
endif()
