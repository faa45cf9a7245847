// Runs libwireshark's dissection in-process, renders trees and columns as text, and compares
// passes.
#include "dissection.h"

#include <cstdio>
#include <cstdlib>

#include <epan/column-info.h>
#include <epan/column-utils.h>
#include <epan/column.h>
#include <epan/epan.h>
#include <epan/epan_dissect.h>
#include <epan/expert.h>
#include <epan/frame_data.h>
#include <epan/packet.h>
#include <epan/prefs.h>
#include <epan/proto.h>
#include <epan/timestamp.h>
#include <epan/tvbuff.h>
#include <glib.h>
#include <gtest/gtest.h>
#include <wiretap/wtap.h>
#include <wsutil/filesystem.h>
#include <wsutil/privileges.h>
#include <wsutil/wslog.h>

extern "C" void plugin_register();

namespace rpcrdma::wireshark::testing {

namespace {

const nstime_t* time_of_frame(packet_provider_data*, guint32) {
  static const nstime_t zero = {};
  return &zero;
}

constexpr packet_provider_funcs kProvider = {time_of_frame, nullptr, nullptr, nullptr};

struct Fields {
  int ours = -1, malformed = -1, finding = -1, bug = -1;
};
Fields fields;
column_info columns;

std::string label_of(const proto_node* node) {
  char text[ITEM_LABEL_LENGTH] = {};
  const field_info* const info = PNODE_FINFO(node);
  if (info == nullptr) return {};
  if (info->rep != nullptr) return info->rep->representation;
  proto_item_fill_label(const_cast<field_info*>(info), text);
  return text;
}

struct Walk {
  Seen* seen = nullptr;
  guint32 frame = 0;
  bool ours = false, malformed = false;
  std::string text;  // of all items
};

void look(proto_node* node, gpointer data) {
  auto& walk = *static_cast<Walk*>(data);
  const field_info* const info = PNODE_FINFO(node);
  if (info != nullptr) {
    const int id = info->hfinfo->id;
    // Renders labels, as the window does.
    const std::string label = label_of(node);
    walk.text += label + "\n";
    if (id == fields.ours) walk.ours = true;
    if (id == fields.finding) ++walk.seen->findings;
    if (id == fields.malformed) walk.malformed = true;
    if (id == fields.bug || label.find("Dissector bug") != std::string::npos) {
      walk.seen->bugs += "frame " + std::to_string(walk.frame) + ": " + label + "\n";
    }
  }
  proto_tree_children_foreach(node, look, data);
}

class Opened {
 public:
  explicit Opened(const std::vector<Record>& capture)
      : capture_(capture), frames_(capture.size()), epan_(epan_new(nullptr, &kProvider)) {
    wtap_rec_init(&record_);
  }
  ~Opened() {
    for (std::size_t i = 0; i < initialised_; ++i) frame_data_destroy(&frames_[i]);
    wtap_rec_cleanup(&record_);
    epan_free(epan_);
  }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;

  // Returns the visible text.
  std::string dissect(std::size_t i, bool first_time, Seen& seen) {
    const Record& r = capture_[i];
    record_.rec_type = REC_TYPE_PACKET;
    record_.presence_flags = WTAP_HAS_TS | WTAP_HAS_CAP_LEN;
    record_.ts.secs = r.seconds;
    record_.ts.nsecs = r.nanoseconds;
    record_.tsprec = WTAP_TSPREC_NSEC;
    record_.rec_header.packet_header.caplen = static_cast<guint32>(r.data.size());
    record_.rec_header.packet_header.len = r.wire_length;
    record_.rec_header.packet_header.pkt_encap = r.encapsulation;
    frame_data* const frame = &frames_[i];
    if (first_time) {
      frame_data_init(frame, static_cast<guint32>(i + 1), &record_, 0, bytes_);
      ++initialised_;
    }
    frame_data_set_before_dissect(frame, &elapsed_, &reference_, previous_);
    epan_dissect_t* const run = epan_dissect_new(epan_, TRUE, TRUE);
    tvbuff_t* const data = tvb_new_real_data(r.data.data(), static_cast<guint>(r.data.size()),
                                             static_cast<gint>(r.wire_length));
    epan_dissect_run(run, WTAP_FILE_TYPE_SUBTYPE_UNKNOWN, &record_, data, frame, &columns);
    epan_dissect_fill_in_columns(run, FALSE, TRUE);
    Walk walk;
    walk.seen = &seen;
    walk.frame = frame->num;
    proto_tree_children_foreach(run->tree, look, &walk);
    seen.ours += walk.ours ? 1 : 0;
    seen.malformed += walk.malformed ? 1 : 0;
    epan_dissect_free(run);
    if (first_time) {
      frame_data_set_after_dissect(frame, &bytes_);
      previous_ = frame;
    }
    return walk.text;
  }

 private:
  const std::vector<Record>& capture_;
  std::vector<frame_data> frames_;
  std::size_t initialised_ = 0;
  epan_t* epan_;
  wtap_rec record_{};
  guint32 bytes_ = 0;
  nstime_t elapsed_{};
  const frame_data* reference_ = nullptr;
  const frame_data* previous_ = nullptr;
};

}  // namespace

void init_wireshark(const char* program) {
  // Ignores the user's configuration; uses malloc() for memory, so that a sanitizer sees its
  // bounds.
  for (const char* folder : {"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "HOME"}) {
    setenv(folder, "/not/existing", 1);
  }
  setenv("WIRESHARK_DEBUG_WMEM_OVERRIDE", "simple", 1);
  setenv("G_SLICE", "always-malloc", 1);
  g_set_prgname("wireshark_safety_test");
  ws_log_init("wireshark_safety_test", nullptr);
  init_process_policies();
  g_free(configuration_init(program, nullptr));
  timestamp_set_type(TS_RELATIVE);
  timestamp_set_precision(TS_PREC_AUTO);
  timestamp_set_seconds_type(TS_SECONDS_DEFAULT);
  wtap_init(FALSE);
  plugin_register();
  if (epan_init(nullptr, nullptr, FALSE) == FALSE) {
    std::fprintf(stderr, "libwireshark cannot be initialised\n");
    std::exit(1);
  }
  e_prefs* const preferences = epan_load_settings();
  prefs_apply_all();
  build_column_format_array(&columns, preferences->num_cols, TRUE);
  fields.ours = proto_registrar_get_id_byname("rpcrdma");
  fields.malformed = proto_registrar_get_id_byname("_ws.malformed");
  fields.finding = proto_registrar_get_id_byname("rpcrdma.finding");
  fields.bug = proto_registrar_get_id_byname("_ws.dissector_bug");
  if (fields.ours < 0 || fields.finding < 0) {
    std::fprintf(stderr, "the plugin is not there\n");
    std::exit(1);
  }
}

std::vector<Record> read_capture(const std::string& path) {
  std::vector<Record> records;
  int error = 0;
  gchar* why = nullptr;
  wtap* const file = wtap_open_offline(path.c_str(), WTAP_TYPE_AUTO, &error, &why, FALSE);
  EXPECT_NE(file, nullptr) << path << ": " << wtap_strerror(error);
  if (file == nullptr) return records;
  wtap_rec record;
  Buffer buffer;
  gint64 offset = 0;
  wtap_rec_init(&record);
  ws_buffer_init(&buffer, 1514);
  while (wtap_read(file, &record, &buffer, &error, &why, &offset) != FALSE) {
    if (record.rec_type == REC_TYPE_PACKET) {
      const wtap_packet_header& header = record.rec_header.packet_header;
      const guint8* const data = ws_buffer_start_ptr(&buffer);
      records.push_back({record.ts.secs,
                         record.ts.nsecs,
                         header.pkt_encap,
                         header.len,
                         {data, data + header.caplen}});
    }
    wtap_rec_reset(&record);
  }
  EXPECT_EQ(error, 0) << path << ": " << wtap_strerror(error);
  g_free(why);
  ws_buffer_free(&buffer);
  wtap_rec_cleanup(&record);
  wtap_close(file);
  return records;
}

Seen dissect(const std::vector<Record>& capture, Again again) {
  Seen seen;
  Opened opened(capture);
  for (std::size_t i = 0; i < capture.size(); ++i) opened.dissect(i, true, seen);
  postseq_cleanup_all_protocols();
  std::vector<std::string> texts(capture.size());
  for (std::size_t i = capture.size(); i-- != 0;) texts[i] = opened.dissect(i, false, seen);
  if (again == Again::kBackwards) return seen;
  for (std::size_t i = 0; i < capture.size(); ++i) {
    if (opened.dissect(i, false, seen) != texts[i]) seen.unstable += std::to_string(i + 1) + " ";
  }
  return seen;
}

}  // namespace rpcrdma::wireshark::testing
