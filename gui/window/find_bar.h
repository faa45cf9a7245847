// Finds a text in the messages that are shown: in Info, procedure, status and XID.
#pragma once

#include "document.h"

#include <QLabel>
#include <QLineEdit>
#include <QWidget>

namespace rpcrdma::gui {

class FindBar : public QWidget {
  Q_OBJECT

 public:
  // `document` outlives this. Hidden until begin().
  explicit FindBar(Document& document, QWidget* parent = nullptr);

  void begin();
  // Selects the next (1) or previous (-1) message with the text, around the end.
  void find(int by);
  [[nodiscard]] QLineEdit& edit() { return *edit_; }
  // What came out; empty while it searches, or if a message was found without passing the end.
  [[nodiscard]] QString result() const { return result_->text(); }

 protected:
  void keyPressEvent(QKeyEvent* event) override;

 private:
  void step(std::uint64_t search);

  Document& document_;
  QLineEdit* edit_;
  QLabel* result_;
  std::uint64_t search_ = 0;  // counts searches: an older one ends when another begins
  int by_ = 1;
  std::uint64_t row_ = 0;   // to look at next
  std::uint64_t left_ = 0;  // rows to look at
  bool passed_end_ = false;
};

}  // namespace rpcrdma::gui
