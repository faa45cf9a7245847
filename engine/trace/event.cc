#include <rpcrdma/trace/event.h>

namespace rpcrdma::trace {

const char* event_type_name(EventType type) {
  switch (type) {
    case EventType::kEndpoint:
      return "endpoint";
    case EventType::kConnection:
      return "connection";
    case EventType::kConnectionEnd:
      return "connection end";
    case EventType::kMessage:
      return "message";
    case EventType::kOperation:
      return "operation";
    case EventType::kOperationEnd:
      return "operation end";
    case EventType::kAdvertise:
      return "advertise";
    case EventType::kInvalidate:
      return "invalidate";
    case EventType::kReceives:
      return "Receives";
    case EventType::kCredits:
      return "credits";
    case EventType::kCreditWait:
      return "credit wait";
    case EventType::kCall:
      return "Call";
    case EventType::kCallEnd:
      return "Call end";
    case EventType::kError:
      return "error";
    case EventType::kFabric:
      return "fabric";
    case EventType::kFault:
      return "fault";
    case EventType::kLoss:
      return "loss";
    case EventType::kRegistration:
      return "registration";
    case EventType::kProcedureSums:
      return "procedure sums";
    case EventType::kConnectionSums:
      return "connection sums";
    case EventType::kDuplicate:
      return "duplicate";
  }
  return "?";
}

}  // namespace rpcrdma::trace
