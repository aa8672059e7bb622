// What Grafana says dashboards look like, for JSON: where it has an enum, the text of its values.
import type { AnnotationQuery, Dashboard, DataQuery, Panel } from "@grafana/schema";
import type * as Heat from "@grafana/schema/dist/esm/raw/composable/heatmap/panelcfg/x/HeatmapPanelCfg_types.gen";
import type * as Stat from "@grafana/schema/dist/esm/raw/composable/stat/panelcfg/x/StatPanelCfg_types.gen";
import type * as Table from "@grafana/schema/dist/esm/raw/composable/table/panelcfg/x/TablePanelCfg_types.gen";
import type * as Lines from "@grafana/schema/dist/esm/raw/composable/timeseries/panelcfg/x/TimeSeriesPanelCfg_types.gen";

export type Plain<T> = T extends string
  ? `${T}`
  : T extends number | boolean | null | undefined
    ? T
    : T extends (infer Each)[]
      ? Plain<Each>[]
      : T extends object
        ? { [Name in keyof T]: Plain<T[Name]> }
        : T;

// Those that the Prometheus data source adds to a query and to an annotation.
interface Query extends DataQuery {
  expr: string;
  legendFormat: string;
  format: "time_series" | "heatmap" | "table";
  instant: boolean;
  range: boolean;
}
interface Annotation extends AnnotationQuery {
  expr: string;
  step: string;
  titleFormat: string;
  textFormat: string;
  tagKeys: string;
}

// A field's settings of its kind are Grafana's, and no others.
type Strict<P, Custom> = Omit<P, "targets" | "fieldConfig"> & {
  targets: Query[];
  fieldConfig: {
    defaults: Omit<NonNullable<Panel["fieldConfig"]>["defaults"], "custom"> & { custom: Custom };
    overrides: NonNullable<Panel["fieldConfig"]>["overrides"];
  };
};
type Nothing = Record<string, never>;

export interface Kinds {
  stat: Plain<Strict<Panel<Stat.Options>, Nothing> & { options: Stat.Options }>;
  timeseries: Plain<Strict<Panel, Lines.FieldConfig> & { options: Lines.Options }>;
  heatmap: Plain<Strict<Panel, Nothing> & { options: Heat.Options }>;
  table: Plain<Strict<Panel, Table.FieldConfig> & { options: Table.Options }>;
}
export type Row = Plain<Extract<NonNullable<Dashboard["panels"]>[number], { collapsed: boolean }>>;
export type Whole = Plain<
  Omit<Dashboard, "panels" | "annotations"> & {
    panels: unknown[];
    annotations: { list: Annotation[] };
  }
>;
