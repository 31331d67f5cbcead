
# ---- the Python extension module @{name}_pybind11 ----

option(SC_PYBIND11 "build the extension module @{name}_pybind11, which needs Python's headers and pybind11" OFF)
if(SC_PYBIND11)
  enable_language(CXX)
  find_package(Python REQUIRED COMPONENTS Interpreter Development.Module)
  if(NOT pybind11_DIR)
    execute_process(COMMAND ${Python_EXECUTABLE} -m pybind11 --cmakedir OUTPUT_VARIABLE pybind11_DIR
      OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
  find_package(pybind11 2.12 REQUIRED CONFIG)
  # The module holds the objects of the library, so it is one file that finds nothing at run time but its weights.
  pybind11_add_module(@{name}_pybind11 MODULE src/@{name}_pybind11.cpp $<TARGET_OBJECTS:@{name}>)
  foreach(level IN LISTS levels)
    target_sources(@{name}_pybind11 PRIVATE $<TARGET_OBJECTS:@{name}_${level}>)
  endforeach()
  target_compile_features(@{name}_pybind11 PRIVATE cxx_std_17)
  target_compile_options(@{name}_pybind11 PRIVATE -O2 @{debug_flags})
  target_include_directories(@{name}_pybind11 PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/include)
  target_link_libraries(@{name}_pybind11 PRIVATE m Threads::Threads)
  if(SC_SANITIZE)
    target_link_options(@{name}_pybind11 PRIVATE -fsanitize=address,undefined)
  endif()
  if(SKBUILD)
    install(TARGETS @{name}_pybind11 DESTINATION ${SKBUILD_PLATLIB_DIR} COMPONENT python)
  endif()
endif()
