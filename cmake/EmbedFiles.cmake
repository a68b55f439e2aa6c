# cmake -DOUTPUT=FILE.inc -DFILES="a;b" -P EmbedFiles.cmake: the files as the
# elements {"name", "contents"} of a C++ array, in the order given.
set(text "")
foreach(file IN LISTS FILES)
  get_filename_component(name "${file}" NAME)
  file(READ "${file}" contents)
  string(APPEND text "{\"${name}\", R\"embedded(${contents})embedded\"},\n")
endforeach()
file(WRITE "${OUTPUT}" "${text}")
