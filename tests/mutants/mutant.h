// Chooses the mutant of an instrumented source at run time: RPCRDMA_MUTANT is its number. Which
// numbers were asked for is noted in the file RPCRDMA_MUTANTS_REACHED, if there is one: a mutant in
// code that a test program never runs need not be tested with it.
#pragma once

#include <cstdlib>
#include <type_traits>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

inline constexpr unsigned long kRpcrdmaMutantsAtMost = 1UL << 16U;

inline int rpcrdma_mutant_from_environment() {
  const char* number = std::getenv("RPCRDMA_MUTANT");
  return number == nullptr ? 0 : std::atoi(number);
}

// A shared mapping keeps what is written in it when the process crashes or forks.
inline volatile char* rpcrdma_map_reached() {
  const char* file = std::getenv("RPCRDMA_MUTANTS_REACHED");
  if (file == nullptr) return nullptr;
  const int fd = ::open(file, O_RDWR | O_CLOEXEC);
  if (fd < 0) return nullptr;
  void* const mapped =
      ::mmap(nullptr, kRpcrdmaMutantsAtMost, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ::close(fd);
  return mapped == MAP_FAILED ? nullptr : static_cast<volatile char*>(mapped);
}

inline int rpcrdma_mutant_chosen = rpcrdma_mutant_from_environment();
inline volatile char* rpcrdma_mutants_reached = rpcrdma_map_reached();

inline bool rpcrdma_mutant(int number) {
  if (rpcrdma_mutants_reached != nullptr) rpcrdma_mutants_reached[number] = 1;
  return rpcrdma_mutant_chosen == number;
}

// In constexpr functions: never while compiling.
constexpr bool rpcrdma_mutant_or_constant(int number) {
  return !std::is_constant_evaluated() && rpcrdma_mutant(number);
}
