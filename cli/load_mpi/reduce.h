// Reduces the encoded results of all ranks to one by a user-defined MPI_Op.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <mpi.h>

#include <rpcrdma/base/error.h>

namespace rpcrdma::load_mpi {

// One reduction to rank 0. Each rank of the communicator begins it, with the same capacity, and
// polls it. Nothing waits: if a rank dies meanwhile, the reduction is never complete.
class Reduction {
 public:
  // `mine`: encoded load_ranks::Results. `capacity`: the sum of the sizes of all ranks' results,
  // which no merged one exceeds.
  Reduction(MPI_Comm communicator, const std::vector<std::uint8_t>& mine, std::size_t capacity);
  ~Reduction();
  Reduction(const Reduction&) = delete;
  Reduction& operator=(const Reduction&) = delete;

  [[nodiscard]] bool complete();
  // When it is complete, at rank 0: the results of all ranks. Fails if two could not be merged.
  [[nodiscard]] base::Expected<std::vector<std::uint8_t>> result() const;

 private:
  // Longer than int counts, so that MPI sees one element of a type of its own.
  struct Buffers {
    std::vector<std::uint8_t> send, receive;
  };
  Buffers* buffers_ = nullptr;  // MPI's until the reduction is complete
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
  MPI_Op operation_ = MPI_OP_NULL;
  MPI_Request request_ = MPI_REQUEST_NULL;
  bool complete_ = false;
};

}  // namespace rpcrdma::load_mpi
