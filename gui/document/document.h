// One capture, or the events of live endpoints, and the current selection in it. It stands between
// the index, which threads fill, and the views, which all live in the interface's thread.
#pragma once

#include "sorted_ids.h"
#include "time_range.h"
#include "time_text.h"
#include "worker.h"

#include <QElapsedTimer>
#include <QObject>
#include <QStringList>
#include <QTimer>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <rpcrdma/index/excerpt.h>
#include <rpcrdma/index/loading.h>
#include <rpcrdma/index/search.h>
#include <rpcrdma/index/store.h>

namespace rpcrdma::gui {

class Document : public QObject {
  Q_OBJECT

 public:
  explicit Document(QObject* parent = nullptr);
  ~Document() override;

  // Both replace the current document. On failure they return false, emit trouble() and change
  // nothing.
  // `names`: as for open_files(); "-": standard input.
  bool open(const QStringList& names);
  // `endpoints`: names or sockets; attaches to those that are reachable.
  bool attach(const QStringList& endpoints);
  bool capture(const QString& interface, const QString& filter);
  // Shows nothing again.
  void close();
  // Whether the next document checks ICRCs; true at first.
  void set_check_icrc(bool check) { check_icrc_ = check; }
  [[nodiscard]] bool check_icrc() const { return check_icrc_; }
  // Whether several sources that show a connection are joined to one; true at first. Otherwise each
  // view is a connection of its own. A change reads or attaches again.
  void set_join_views(bool join);
  [[nodiscard]] bool join_views() const { return join_views_; }
  // Stops reading; what was read stays.
  void stop();

  [[nodiscard]] bool is_empty() const { return store_ == nullptr; }
  [[nodiscard]] bool is_live() const { return live_; }
  // Never null, and the same until reset() is emitted.
  [[nodiscard]] const index::Store& store() const { return store_ ? *store_ : nothing_; }
  // The same, for other threads: they keep it while they read it.
  [[nodiscard]] std::shared_ptr<const index::Store> shared_store() const { return store_; }
  [[nodiscard]] const QString& title() const { return title_; }
  [[nodiscard]] QStringList files() const { return files_; }
  // Path of the file with the frames, from Loading::frames(); empty without a document.
  [[nodiscard]] std::string frames() const;

  // The latest analysis, as `rpcrdma analyze` would print it for what has been read; null: none
  // yet.
  [[nodiscard]] std::shared_ptr<const report::Report> report() const { return report_; }

  // The range of time that all views show.
  [[nodiscard]] TimeRange& time_range() { return time_range_; }
  // How all views write times.
  [[nodiscard]] TimeFormat time_format() const { return time_format_; }
  void set_time_format(TimeFormat format);
  // Relative times count from here: the first frame, or the user's reference. Since 1970.
  [[nodiscard]] std::int64_t time_origin() const;
  void set_time_reference(std::optional<std::int64_t> ns);  // nothing: the first frame
  [[nodiscard]] QString time_text(std::int64_t ns) const {
    return gui::time_text(ns, time_origin(), time_format_);
  }

  // While paused, the source is still read, and views stay as they are.
  void set_paused(bool paused);
  [[nodiscard]] bool is_paused() const { return paused_; }

  // Rows of the table: the messages in the range of time that the filter matches. Without a filter,
  // all messages are shown.
  [[nodiscard]] std::uint64_t row_count() const;
  [[nodiscard]] std::uint64_t message_at(std::uint64_t row) const;  // ID
  // Returns the row of a message; nothing if the filter excludes it.
  [[nodiscard]] std::optional<std::uint64_t> row_of(std::uint64_t message) const;

  // An empty text shows all. Returns false for an invalid filter, with the reason and place in
  // `error`.
  bool set_filter(const QString& text, filter::FilterError* error = nullptr);
  [[nodiscard]] const QString& filter() const { return filter_; }
  // Progress of the filter's search: messages searched, and their total.
  struct Searched {
    std::uint64_t done = 0, total = 0;
    bool finished = true;
  };
  [[nodiscard]] Searched searched() const;

  // The selection, for all views.
  void select_message(std::uint64_t id);
  void select_frame(std::uint64_t frame);
  void select_connection(std::uint32_t index);
  [[nodiscard]] std::uint64_t selected() const { return selected_; }
  [[nodiscard]] std::optional<std::uint32_t> connection() const { return connection_; }
  // The selected message's stretch, from its Call to its answer. Null while it is read.
  [[nodiscard]] std::shared_ptr<const index::Excerpt> excerpt() const { return excerpt_; }

  // Reads messages first..last in full; ladder_read() follows. The latest call counts.
  void read_ladder(std::uint64_t first, std::uint64_t last);

  // Runs `work(const index::Store&, const std::atomic<bool>& cancelled)` in a thread of its own,
  // one after the other, and then `done(result)` in this one. Another document sets `cancelled`,
  // waits for `work`, and drops `done`. Does nothing without a document.
  template <typename Work, typename Done>
  void in_background(Work work, Done done) {
    if (store_ == nullptr) return;
    background_->post(
        this,
        [store = store_.get(), cancelled = background_cancelled_, w = std::move(work)]() mutable {
          return w(static_cast<const index::Store&>(*store), *cancelled);
        },
        [cancelled = background_cancelled_, d = std::move(done)](auto result) mutable {
          if (!*cancelled) d(std::move(result));
        });
  }

 Q_SIGNALS:
  void reset();         // another document
  void changed();       // the store grew; at most every 50 ms
  void rows_changed();  // row_count(), or which messages are shown
  void finished();      // the source has ended
  void message_selected(quint64 id);
  void connection_selected(quint32 index);
  void report_changed();
  void time_format_changed();  // the format, or the origin
  void paused_changed(bool paused);
  void excerpt_read();
  void ladder_read(std::shared_ptr<const rpcrdma::index::Excerpt> excerpt, quint64 first,
                   quint64 last);
  void trouble(const QString& text);  // a problem, in one line

 private:
  [[nodiscard]] index::LoadOptions load_options() const {
    index::LoadOptions options;
    options.check_icrc = check_icrc_;
    options.join_views = join_views_;
    return options;
  }
  bool take(std::unique_ptr<index::Store> store, std::unique_ptr<index::Loading> loading,
            const QString& title, const QStringList& files, bool live);
  void note_change();
  void announce_change();
  void search_on();
  void took(const index::Search::Found& found);
  void range_changed();

  index::Store nothing_;
  std::shared_ptr<index::Store> store_;
  std::unique_ptr<index::Loading> loading_;
  QString title_;
  QStringList files_;
  bool live_ = false;
  bool check_icrc_ = true;
  bool join_views_ = true;
  QStringList attached_;  // endpoints, to attach to again
  bool finished_shown_ = false;
  bool trouble_shown_ = false;
  std::shared_ptr<std::atomic<bool>> noted_;  // a change is queued for this thread
  QTimer change_timer_;
  QElapsedTimer announced_;  // since the views showed a change
  qint64 pause_ms_ = 0;      // from there, before they show the next one

  QString filter_;
  std::shared_ptr<index::Search> search_;
  bool searching_ = false;  // the worker runs a step
  index::Search::Found last_found_;
  SortedIds found_;
  std::uint64_t all_rows_ = 0;  // as of the last rows_changed()
  // IDs of the messages in the range: first_..last_; with a filter, those of found_ from
  // found_first_ on, found_count_ of them.
  void find_range();
  std::uint64_t first_ = 1, last_ = 0;
  std::uint64_t found_first_ = 0, found_count_ = 0;

  TimeRange time_range_;
  TimeFormat time_format_ = TimeFormat::kRelative;
  std::optional<std::int64_t> time_reference_;
  std::int64_t first_frame_ns_ = 0;
  std::shared_ptr<const report::Report> report_;
  bool paused_ = false;

  std::uint64_t selected_ = 0;
  std::optional<std::uint32_t> connection_;
  std::shared_ptr<const index::Excerpt> excerpt_;
  std::shared_ptr<std::atomic<bool>> excerpt_cancelled_, ladder_cancelled_;

  std::unique_ptr<Worker> search_worker_, excerpt_worker_, background_;
  std::shared_ptr<std::atomic<bool>> background_cancelled_;
  Worker disposal_;  // ends and frees the document before
};

}  // namespace rpcrdma::gui
