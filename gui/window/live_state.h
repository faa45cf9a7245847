// Shows whether the document still grows: "LIVE", or when and how it ended. Always visible.
#pragma once

#include "document.h"

#include <QElapsedTimer>
#include <QLabel>
#include <QTimer>

namespace rpcrdma::gui {

class LiveState : public QLabel {
  Q_OBJECT

 public:
  explicit LiveState(Document& document, QWidget* parent = nullptr);

  struct Words {
    QString line;       // empty for a file
    QString title;      // for the window's title: "LIVE", "ended"
    bool live = false;  // more data may arrive
    bool whole = true;  // each endpoint that ended closed its connections
  };
  // `silent_ms`: for how long no message has come.
  [[nodiscard]] static Words words(const index::Content& content, bool live, qint64 silent_ms);

  // The words shown last.
  [[nodiscard]] const Words& shown() const { return shown_; }

 Q_SIGNALS:
  void changed();

 private:
  void update_text();

  Document& document_;
  Words shown_;
  QTimer clock_;
  std::uint64_t messages_ = 0;  // when the last one came
  QElapsedTimer silent_;
};

}  // namespace rpcrdma::gui
