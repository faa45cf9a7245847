// Plain names of diagnoses. Other rules are named by the sentence that they state.
#include "overview_model.h"

#include <QCoreApplication>
#include <array>
#include <utility>

#include <rpcrdma/gui_text/plain_text.h>
#include <rpcrdma/rules/rule.h>

namespace rpcrdma::gui {

namespace {

constexpr std::array<std::pair<const char*, const char*>, 28> kTitles{{
    {"CAPTURE", QT_TRANSLATE_NOOP("rpcrdma::gui::RuleTitle", "The capture lost packets")},
    {"ICRC", QT_TRANSLATE_NOOP("rpcrdma::gui::RuleTitle", "Packets have a wrong ICRC")},
    {"CREDIT-STARVED", QT_TRANSLATE_NOOP("rpcrdma::gui::RuleTitle", "Calls wait for credits")},
    {"RNR", QT_TRANSLATE_NOOP("rpcrdma::gui::RuleTitle", "The receiver was not ready")},
    {"RETX-STORM", QT_TRANSLATE_NOOP("rpcrdma::gui::RuleTitle", "Packets are lost")},
    {"CONN-LOST",
     QT_TRANSLATE_NOOP("rpcrdma::gui::RuleTitle", "A connection ended with Calls unanswered")},
    {"STALL", QT_TRANSLATE_NOOP("rpcrdma::gui::RuleTitle", "The responder is silent")},
    {"OUTAGE", QT_TRANSLATE_NOOP("rpcrdma::gui::RuleTitle", "A client had no connection")},
    {"SLOW-CALL", QT_TRANSLATE_NOOP("rpcrdma::gui::RuleTitle", "Calls exceed your limit")},
    {"RECONNECT",
     QT_TRANSLATE_NOOP("rpcrdma::gui::RuleTitle", "Calls were resent on a new connection")},
    {"ANSWERED-TWICE",
     QT_TRANSLATE_NOOP("rpcrdma::gui::RuleTitle", "Answered Calls were sent again")},
    {"CALL-REFUSED", QT_TRANSLATE_NOOP("rpcrdma::gui::RuleTitle", "The responder refuses Calls")},
    {"PROBE", QT_TRANSLATE_NOOP("rpcrdma::gui::RuleTitle", "The requester probed the responder")},
    {"NFS-STATUS",
     QT_TRANSLATE_NOOP("rpcrdma::gui::RuleTitle", "NFS operations fail on the server")},
    {"NEEDLESS-CHUNK",
     QT_TRANSLATE_NOOP("rpcrdma::gui::RuleTitle", "Chunks carry data that fits inline")},
    {"LARGER-THRESHOLD",
     QT_TRANSLATE_NOOP("rpcrdma::gui::RuleTitle", "The inline threshold is small")},
    {"REG-CHURN", QT_TRANSLATE_NOOP("rpcrdma::gui::RuleTitle", "Small payloads use many segments")},
    {"GSS-NO-DDP",
     QT_TRANSLATE_NOOP("rpcrdma::gui::RuleTitle", "RPCSEC_GSS rules out chunks for data")},
    {"GSS-CHUNK",
     QT_TRANSLATE_NOOP("rpcrdma::gui::RuleTitle", "A body under RPCSEC_GSS was reduced")},
    {"SLOW-PEER", QT_TRANSLATE_NOOP("rpcrdma::gui::RuleTitle", "The responder is slow")},
    {"SLOW-NETWORK", QT_TRANSLATE_NOOP("rpcrdma::gui::RuleTitle", "The network is slow")},
    {"CONGESTION", QT_TRANSLATE_NOOP("rpcrdma::gui::RuleTitle", "The network is congested")},
    {"CB-PATH-DOWN",
     QT_TRANSLATE_NOOP("rpcrdma::gui::RuleTitle", "Callbacks do not reach the client")},
    {"LINUX-REPLY-CHUNK",
     QT_TRANSLATE_NOOP("rpcrdma::gui::RuleTitle", "Linux server: Reply chunks for short Replies")},
    {"LINUX-PAD-SEGMENT",
     QT_TRANSLATE_NOOP("rpcrdma::gui::RuleTitle", "Linux client: a segment for roundup")},
    {"LINUX-XID-OFFSET",
     QT_TRANSLATE_NOOP("rpcrdma::gui::RuleTitle", "Linux client: XIDs as offsets")},
    {"LINUX-GRANT",
     QT_TRANSLATE_NOOP("rpcrdma::gui::RuleTitle", "Linux server: a grant of its own choice")},
    {"LINUX-NO-READS",
     QT_TRANSLATE_NOOP("rpcrdma::gui::RuleTitle", "Linux client: announces no RDMA Reads")},
}};

}  // namespace

QString rule_title(std::string_view rule) {
  for (const auto& [name, title] : kTitles) {
    if (rule == name) return QCoreApplication::translate("rpcrdma::gui::RuleTitle", title);
  }
  const rules::Rule* const known = rules::find_rule(rule);
  if (known == nullptr) {
    return one_line(QString::fromUtf8(rule.data(), static_cast<qsizetype>(rule.size())));
  }
  return QCoreApplication::translate("rpcrdma::gui::RuleTitle", "Broken rule: %1")
      .arg(QString(known->sentence));
}

}  // namespace rpcrdma::gui
