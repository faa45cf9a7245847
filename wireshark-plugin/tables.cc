// The common part of all statistics tables: in tshark by -z, in Wireshark's Statistics menu.
#include "plugin.h"
#include "statistics.h"

#include <algorithm>
#include <deque>

namespace rpcrdma::wireshark {

namespace {

struct Kind {
  TableKind of;
  stat_tap_table_ui ui{};
};

// Wireshark keeps pointers to the elements.
std::deque<Kind>& kinds() {
  static std::deque<Kind> all;
  return all;
}

struct OpenTable {
  const TableKind* kind = nullptr;
  TableRows rows;
};
std::map<stat_tap_table*, OpenTable>& open_tables() {
  static std::map<stat_tap_table*, OpenTable> all;
  return all;
}

bool filter_given = false;  // for the next table

void note_filter(const char* argument, const char** filter, char** error) {
  (void)argument, (void)error;
  filter_given = filter != nullptr && *filter != nullptr && (*filter)[0] != 0;
}

void free_cell(Cell& c) {
  if (c.type == TABLE_ITEM_STRING) g_free(const_cast<char*>(c.value.string_value));
  c = {};
}

void free_item(stat_tap_table* table, guint row, guint column, Cell* data) {
  (void)row, (void)column;
  free_cell(*data);
  open_tables().erase(table);
}

// Called before another pass over the frames. The window that shows the rows drops them, too.
void reset(stat_tap_table* table) {
  const auto it = open_tables().find(table);
  if (it == open_tables().end()) return;
  it->second.rows = {};
  for (guint r = 0; r < table->num_elements; ++r) {
    for (guint c = 0; c < table->num_fields; ++c) free_cell(table->elements[r][c]);
    g_free(table->elements[r]);
  }
  table->num_elements = 0;
}

void open_table(stat_tap_table_ui* ui) {
  const auto kind = std::find_if(kinds().begin(), kinds().end(), [ui](const Kind& k) {
    return std::string_view(k.of.argument) == ui->cli_string;
  });
  stat_tap_table* table = stat_tap_find_table(ui, kind->of.title);
  if (table == nullptr) {
    table =
        stat_tap_init_table(kind->of.title, static_cast<int>(kind->of.columns.size()), 0, nullptr);
    stat_tap_add_table(ui, table);
  } else {
    reset(table);
  }
  OpenTable& open = open_tables()[table];
  open.kind = &kind->of;
  open.rows.filtered = filter_given;
  filter_given = false;
}

tap_packet_status on_frame(void* data, packet_info* pinfo, epan_dissect_t* edt, const void* tapped,
                           tap_flags_t flags) {
  (void)flags;
  (void)pinfo, (void)edt;
  const auto* const stat = static_cast<const stat_data_t*>(data);
  stat_tap_table* const table = g_array_index(stat->stat_tap_data->tables, stat_tap_table*, 0);
  const auto it = open_tables().find(table);
  if (it == open_tables().end()) return TAP_PACKET_DONT_REDRAW;
  it->second.kind->frame(table, it->second.rows, *static_cast<const Tapped*>(tapped));
  return TAP_PACKET_REDRAW;
}

}  // namespace

Cell cell(std::uint64_t value) {
  Cell c{};
  c.type = TABLE_ITEM_UINT;
  c.value.uint_value = static_cast<guint>(std::min<std::uint64_t>(value, G_MAXUINT));
  return c;
}

Cell cell(const std::string& text) {
  Cell c{};
  c.type = TABLE_ITEM_STRING;
  c.value.string_value = g_strdup(text.c_str());
  return c;
}

void put_row(stat_tap_table* table, TableRows& rows, std::uint64_t key, std::vector<Cell> cells) {
  const auto [it, is_new] = rows.row.emplace(key, table->num_elements);
  if (!is_new) {
    for (guint c = 0; c < table->num_fields; ++c) free_cell(table->elements[it->second][c]);
  }
  stat_tap_init_table_row(table, it->second, static_cast<guint>(cells.size()), cells.data());
}

void register_table(const TableKind& of) {
  Kind& kind = kinds().emplace_back();
  kind.of = of;
  kind.ui.group = REGISTER_PACKET_STAT_GROUP_UNSORTED;
  kind.ui.title = kind.of.title;
  kind.ui.tap_name = "rpcrdma";
  kind.ui.cli_string = kind.of.argument;
  kind.ui.stat_tap_init_cb = open_table;
  kind.ui.packet_func = on_frame;
  kind.ui.stat_tap_reset_table_cb = reset;
  kind.ui.stat_tap_free_table_item_cb = free_item;
  kind.ui.stat_filter_check_cb = note_filter;
  kind.ui.nfields = kind.of.columns.size();
  kind.ui.fields = kind.of.columns.data();
  static tap_param filter = {PARAM_FILTER, "filter", "Filter", nullptr, TRUE};
  kind.ui.nparams = 1;
  kind.ui.params = &filter;
  register_stat_tap_table_ui(&kind.ui);
}

void register_statistics() {
  register_response_times();
  register_table(findings_table());
  register_table(connections_table());
  register_table(chunks_table());
}

void complete_statistics() {
  for (auto& [table, open] : open_tables()) open.kind->complete(table, open.rows);
}

}  // namespace rpcrdma::wireshark
