// Messages over MPI's nonblocking functions.
#include "channel.h"

#include <algorithm>
#include <utility>

#include <time.h>

#include <rpcrdma/service/loop.h>

namespace rpcrdma::load_mpi {

Channel::Channel() {
  // Messages of the job do not mix with those of libraries, and an error of one peer does not end
  // the process.
  MPI_Comm_dup(MPI_COMM_WORLD, &communicator_);
  MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(communicator_, &rank_);
  MPI_Comm_size(communicator_, &size_);
  incoming_.resize(static_cast<std::size_t>(size_));
}

// MPI_Finalize() or the end of the process frees the communicator: MPI_Comm_free() is collective,
// and peers may be dead. So may requests be incomplete; MPI then still uses their memory.
Channel::~Channel() {
  for (auto& o : outgoing_) {
    if (o->request != MPI_REQUEST_NULL) (void)o.release();
  }
  for (auto& from : incoming_) {
    for (auto& i : from) {
      if (!i->complete) (void)i.release();
    }
  }
}

void Channel::send(int to, Kind kind, std::string bytes) {
  auto one = std::make_unique<Outgoing>();
  one->to = to;
  one->bytes = std::move(bytes);
  MPI_Isend(one->bytes.data(), static_cast<int>(one->bytes.size()), MPI_BYTE, to,
            static_cast<int>(kind), communicator_, &one->request);
  outgoing_.push_back(std::move(one));
}

std::size_t Channel::unsent(int to) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(outgoing_, [&](const auto& o) { return o->to == to; }));
}

void Channel::progress() {
  std::erase_if(outgoing_, [](const std::unique_ptr<Outgoing>& o) {
    int done = 0;
    // A failed request is complete, too: its peer is dead, which the missing heartbeats show.
    return MPI_Test(&o->request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS || done != 0;
  });
  for (;;) {
    int found = 0;
    MPI_Message handle = MPI_MESSAGE_NULL;
    MPI_Status status;
    if (MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, communicator_, &found, &handle, &status) !=
            MPI_SUCCESS ||
        found == 0) {
      break;
    }
    int length = 0;
    MPI_Get_count(&status, MPI_BYTE, &length);
    auto one = std::make_unique<Incoming>();
    const bool ours = length >= 0 && length <= kLongest && status.MPI_TAG < kKinds;
    one->message.from = status.MPI_SOURCE;
    one->message.kind = ours ? static_cast<Kind>(status.MPI_TAG) : Kind::kAlive;
    one->message.bytes.resize(ours ? static_cast<std::size_t>(length) : 0);
    // A sender that is stopped amid a long message leaves it incomplete for good, so this must not
    // wait.
    MPI_Imrecv(one->message.bytes.data(), static_cast<int>(one->message.bytes.size()), MPI_BYTE,
               &handle, &one->request);
    incoming_[static_cast<std::size_t>(status.MPI_SOURCE)].push_back(std::move(one));
    ++pending_;
  }
}

std::optional<Message> Channel::receive() {
  progress();
  if (pending_ == 0) return std::nullopt;
  for (std::size_t i = 0; i < incoming_.size(); ++i) {
    auto& from = incoming_[next_source_];
    next_source_ = (next_source_ + 1) % incoming_.size();
    if (from.empty()) continue;
    Incoming& first = *from.front();
    int done = 0;
    if (MPI_Test(&first.request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && done == 0) continue;
    first.complete = true;
    Message message = std::move(first.message);
    from.pop_front();
    --pending_;
    return message;
  }
  return std::nullopt;
}

void Channel::flush(fabric::Time deadline) {
  while (!outgoing_.empty() && service::Loop::read_clock() < deadline) {
    progress();
    const timespec pause{0, 200'000};
    ::nanosleep(&pause, nullptr);
  }
}

}  // namespace rpcrdma::load_mpi
