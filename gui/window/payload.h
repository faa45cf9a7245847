// The data of a Call's chunks and its whole RPC messages, for files, as `rpcrdma extract` writes
// them. Data of which a part is missing is never written.
#pragma once

#include "document.h"

#include <QDialog>
#include <vector>

QT_BEGIN_NAMESPACE
class QLabel;
class QListWidget;
class QPushButton;
QT_END_NAMESPACE

namespace rpcrdma::gui {

struct Payload {
  QString title;                    // "Write chunk 0"
  QString file;                     // the name that `rpcrdma extract` gives it
  std::uint64_t length = 0;         // bytes of the whole
  std::vector<std::uint8_t> bytes;  // empty if it is not complete
  QString missing;                  // why it is not complete; empty: it is
};

// Those of the Call that the message is, or that it answers.
[[nodiscard]] std::vector<Payload> payloads_of(const index::Excerpt& excerpt, quint64 message);
// Returns why the file cannot be written; empty: it was.
[[nodiscard]] QString save_payload(const Payload& payload, const QString& path);

// Asks which one to save, and where.
class PayloadDialog : public QDialog {
  Q_OBJECT

 public:
  // Of the document's selected message. `document` outlives this.
  explicit PayloadDialog(Document& document, QWidget* parent = nullptr);

  [[nodiscard]] const std::vector<Payload>& payloads() const { return payloads_; }

 Q_SIGNALS:
  void reported(const QString& text);  // what was saved, or why not

 private:
  void show_payloads();
  void show_current();
  void save();

  Document& document_;
  quint64 message_;
  std::vector<Payload> payloads_;
  QListWidget* list_;
  QLabel* note_;
  QPushButton* save_;
};

}  // namespace rpcrdma::gui
