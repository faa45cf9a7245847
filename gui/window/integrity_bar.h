// Shows whether the capture is complete: a line that is always visible, and details on demand.
#pragma once

#include "document.h"

#include <QToolButton>

namespace rpcrdma::gui {

class IntegrityBar : public QToolButton {
  Q_OBJECT

 public:
  explicit IntegrityBar(Document& document, QWidget* parent = nullptr);

  // A short line, and the details. `whole` is false if something is missing.
  struct Words {
    QString line, full;
    bool whole = true;
  };
  [[nodiscard]] static Words words(const index::Content& content, bool live);
  // The details, as last shown.
  [[nodiscard]] const QString& full() const { return full_; }

 private:
  void update_text();

  Document& document_;
  QString full_;
};

}  // namespace rpcrdma::gui
