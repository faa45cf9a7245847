#include <rpcrdma/fabric/provider.h>
#include <rpcrdma/fabric/work.h>

namespace rpcrdma::fabric {

const char* status_name(Status status) {
  switch (status) {
    case Status::kSuccess:
      return "success";
    case Status::kLocalLength:
      return "local length";
    case Status::kLocalProtection:
      return "local protection";
    case Status::kLocalOperation:
      return "local operation";
    case Status::kFlushed:
      return "flushed";
    case Status::kRemoteInvalid:
      return "remote invalid request";
    case Status::kRemoteAccess:
      return "remote access";
    case Status::kRemoteOperation:
      return "remote operation";
    case Status::kBadResponse:
      return "bad response";
    case Status::kRetriesExceeded:
      return "retries exceeded";
    case Status::kRnrRetriesExceeded:
      return "RNR retries exceeded";
  }
  return "unknown";
}

const char* operation_name(Operation operation) {
  switch (operation) {
    case Operation::kSend:
      return "Send";
    case Operation::kSendImmediate:
      return "Send with Immediate";
    case Operation::kSendInvalidate:
      return "Send with Invalidate";
    case Operation::kWrite:
      return "Write";
    case Operation::kWriteImmediate:
      return "Write with Immediate";
    case Operation::kRead:
      return "Read";
    case Operation::kReceive:
      return "Receive";
    case Operation::kAdvertise:
      return "advertise";
    case Operation::kInvalidate:
      return "invalidate";
  }
  return "unknown";
}

const char* event_name(EventType type) {
  switch (type) {
    case EventType::kRequest:
      return "request";
    case EventType::kEstablished:
      return "established";
    case EventType::kRejected:
      return "rejected";
    case EventType::kUnreachable:
      return "unreachable";
    case EventType::kDisconnected:
      return "disconnected";
    case EventType::kProviderLost:
      return "provider lost";
  }
  return "unknown";
}

}  // namespace rpcrdma::fabric
