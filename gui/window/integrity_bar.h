// Whether what is shown is all there was: always in sight, and in full when asked.
#pragma once

#include "document.h"

#include <QToolButton>

namespace rpcrdma::gui {

class IntegrityBar : public QToolButton {
  Q_OBJECT

 public:
  explicit IntegrityBar(Document& document, QWidget* parent = nullptr);

  // In one line, and in full. `whole` is false where something is missing.
  struct Words {
    QString line, full;
    bool whole = true;
  };
  [[nodiscard]] static Words words(const index::Content& content, bool live);
  // In full, as shown last.
  [[nodiscard]] const QString& full() const { return full_; }

 private:
  void update_text();

  Document& document_;
  QString full_;
};

}  // namespace rpcrdma::gui
