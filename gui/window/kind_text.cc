#include "kind_text.h"

#include <QCoreApplication>
#include <array>

namespace rpcrdma::gui {

namespace {

// As model::kind_name(), for lupdate.
[[maybe_unused]] constexpr std::array kKinds{
    QT_TRANSLATE_NOOP("rpcrdma::gui::Kind", "call"),
    QT_TRANSLATE_NOOP("rpcrdma::gui::Kind", "reply"),
    QT_TRANSLATE_NOOP("rpcrdma::gui::Kind", "error"),
    QT_TRANSLATE_NOOP("rpcrdma::gui::Kind", "done"),
    QT_TRANSLATE_NOOP("rpcrdma::gui::Kind", "option"),
    QT_TRANSLATE_NOOP("rpcrdma::gui::Kind", "malformed"),
    QT_TRANSLATE_NOOP("rpcrdma::gui::Kind", "control"),
};

}  // namespace

QString kind_text(model::Kind kind, bool reverse) {
  const QString text = QCoreApplication::translate("rpcrdma::gui::Kind", model::kind_name(kind));
  return reverse ? QCoreApplication::translate("rpcrdma::gui::Kind", "reverse %1").arg(text) : text;
}

}  // namespace rpcrdma::gui
