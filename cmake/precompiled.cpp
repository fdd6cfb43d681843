// The precompiled headers (cmake/SmoeLibrary.cmake) need a source to belong to.
