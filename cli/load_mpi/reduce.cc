// Each element is an encoded result behind its length. The operation merges two in their encoded
// form; the merge is exact, so the order in which MPI reduces does not matter.
#include "reduce.h"

#include <algorithm>
#include <cstring>
#include <span>

#include <rpcrdma/load_ranks/results.h>

namespace rpcrdma::load_mpi {
namespace {

constexpr std::size_t kLength = sizeof(std::uint64_t);
// In place of a length: two results could not be merged.
constexpr std::uint64_t kBroken = UINT64_MAX;

std::uint64_t length_of(const std::uint8_t* element) {
  std::uint64_t length = 0;
  std::memcpy(&length, element, kLength);
  return length;
}

void set_length(std::uint8_t* element, std::uint64_t length) {
  std::memcpy(element, &length, kLength);
}

void merge_elements(const std::uint8_t* in, std::uint8_t* in_out, std::size_t capacity) {
  const std::uint64_t a = length_of(in);
  const std::uint64_t b = length_of(in_out);
  if (a > capacity || b > capacity) return set_length(in_out, kBroken);
  const auto merged = load_ranks::merge_encoded({in + kLength, static_cast<std::size_t>(a)},
                                                {in_out + kLength, static_cast<std::size_t>(b)});
  if (!merged || merged->size() > capacity) return set_length(in_out, kBroken);
  set_length(in_out, merged->size());
  std::memcpy(in_out + kLength, merged->data(), merged->size());
}

// MPI calls it. No exception may cross into its C code.
void merge_operation(void* in, void* in_out, int* count, MPI_Datatype* type) {
  int size = 0;
  MPI_Type_size(*type, &size);
  const auto bytes = static_cast<std::size_t>(size);
  const auto* from = static_cast<const std::uint8_t*>(in);
  auto* to = static_cast<std::uint8_t*>(in_out);
  for (int i = 0; i < *count; ++i, from += bytes, to += bytes) {
    try {
      merge_elements(from, to, bytes - kLength);
    } catch (...) {
      set_length(to, kBroken);
    }
  }
}

}  // namespace

Reduction::Reduction(MPI_Comm communicator, const std::vector<std::uint8_t>& mine,
                     std::size_t capacity)
    : buffers_(new Buffers) {
  const std::size_t bytes = kLength + std::max(capacity, mine.size());
  buffers_->send.resize(bytes);
  buffers_->receive.resize(bytes);
  set_length(buffers_->send.data(), mine.size());
  std::ranges::copy(mine, buffers_->send.begin() + kLength);
  MPI_Type_contiguous(static_cast<int>(bytes), MPI_BYTE, &type_);
  MPI_Type_commit(&type_);
  MPI_Op_create(merge_operation, 1, &operation_);
  MPI_Ireduce(buffers_->send.data(), buffers_->receive.data(), 1, type_, operation_, 0,
              communicator, &request_);
}

Reduction::~Reduction() {
  if (!complete_) return;  // MPI may still write there
  MPI_Op_free(&operation_);
  MPI_Type_free(&type_);
  delete buffers_;
}

bool Reduction::complete() {
  int done = 0;
  if (!complete_ && MPI_Test(&request_, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && done != 0) {
    complete_ = true;
  }
  return complete_;
}

base::Expected<std::vector<std::uint8_t>> Reduction::result() const {
  const std::uint8_t* const element = buffers_->receive.data();
  const std::uint64_t length = length_of(element);
  if (length > buffers_->receive.size() - kLength) {
    return base::fail("the results of two ranks do not fit together");
  }
  return std::vector<std::uint8_t>(element + kLength,
                                   element + kLength + static_cast<std::size_t>(length));
}

}  // namespace rpcrdma::load_mpi
