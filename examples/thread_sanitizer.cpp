// Debian's libcpp-httplib is not instrumented: ThreadSanitizer does not see how it guards its own
// static objects and reports their use. What it does itself is left out; handlers are still
// watched.
extern "C" const char* __tsan_default_suppressions();   // NOLINT: the sanitizer's own name
extern "C" const char* __tsan_default_suppressions() {  // NOLINT: the sanitizer's own name
  return "called_from_lib:libcpp-httplib\n";
}
