// The messages that the user marked or commented, and the one that times count from. They last as
// long as the document; comments are written into the captures that the window saves.
#pragma once

#include "document.h"

#include <QObject>
#include <map>

namespace rpcrdma::gui {

class Marks : public QObject {
  Q_OBJECT

 public:
  static constexpr std::size_t kMost = 10'000;
  static constexpr int kLongestComment = 1000;  // characters

  struct Mark {
    bool marked = false;
    QString comment;
  };

  // `document` outlives this. Another document has no marks.
  explicit Marks(Document& document, QObject* parent = nullptr);

  // By message ID.
  [[nodiscard]] const std::map<quint64, Mark>& all() const { return all_; }
  [[nodiscard]] Mark of(quint64 message) const;
  // Both return false if there are kMost already. An empty comment is none.
  bool set_marked(quint64 message, bool on);
  bool set_comment(quint64 message, const QString& text);
  // The message that times count from; 0: the first frame.
  [[nodiscard]] quint64 reference() const { return reference_; }
  void set_reference(quint64 message);

  // The next (1) or previous (-1) message with a mark or a comment that the table shows, from a
  // message on, around the end; 0: there is none.
  [[nodiscard]] quint64 next(quint64 message, int by) const;

 Q_SIGNALS:
  void changed();

 private:
  [[nodiscard]] Mark* place(quint64 message);
  void settle(quint64 message);

  Document& document_;
  std::map<quint64, Mark> all_;
  quint64 reference_ = 0;
};

}  // namespace rpcrdma::gui
