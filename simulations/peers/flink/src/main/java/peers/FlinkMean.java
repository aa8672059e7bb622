package peers;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.time.Duration;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.api.common.serialization.SimpleStringSchema;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.connector.base.DeliveryGuarantee;
import org.apache.flink.connector.kafka.sink.KafkaRecordSerializationSchema;
import org.apache.flink.connector.kafka.sink.KafkaSink;
import org.apache.flink.connector.kafka.source.KafkaSource;
import org.apache.flink.connector.kafka.source.enumerator.initializer.OffsetsInitializer;
import org.apache.flink.connector.kafka.source.reader.deserializer.KafkaRecordDeserializationSchema;
import org.apache.flink.streaming.api.CheckpointingMode;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.windowing.ProcessWindowFunction;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.util.Collector;
import org.apache.kafka.clients.consumer.ConsumerRecord;

/** The tumbling mean of each meter, exactly once, as the manual of Flink's DataStream writes it. */
public final class FlinkMean {
    private static final JsonFactory JSON = new JsonFactory();

    /** As Flink wants its plain objects. */
    public static class Reading {
        public String meter;
        public long time;
        public double watts;

        public Reading() {}
    }

    /** What is kept of a window. */
    public static class Sum {
        public double watts;
        public long count;

        public Sum() {}
    }

    private static final class Parse implements KafkaRecordDeserializationSchema<Reading> {
        @Override
        public void deserialize(ConsumerRecord<byte[], byte[]> record, Collector<Reading> out)
                throws IOException {
            Reading reading = new Reading();
            try (JsonParser parser = JSON.createParser(record.value())) {
                parser.nextToken();
                while (parser.nextToken() == JsonToken.FIELD_NAME) {
                    String field = parser.currentName();
                    parser.nextToken();
                    switch (field) {
                        case "meter_id" -> reading.meter = parser.getText();
                        case "ts" -> reading.time = parser.getLongValue();
                        case "value" -> reading.watts = parser.getDoubleValue();
                        default -> { }
                    }
                }
            }
            out.collect(reading);
        }

        @Override
        public TypeInformation<Reading> getProducedType() {
            return TypeInformation.of(Reading.class);
        }
    }

    private static final class Mean implements AggregateFunction<Reading, Sum, Sum> {
        @Override
        public Sum createAccumulator() {
            return new Sum();
        }

        @Override
        public Sum add(Reading reading, Sum sum) {
            sum.watts += reading.watts;
            sum.count++;
            return sum;
        }

        @Override
        public Sum getResult(Sum sum) {
            return sum;
        }

        @Override
        public Sum merge(Sum one, Sum other) {
            one.watts += other.watts;
            one.count += other.count;
            return one;
        }
    }

    private static final class Tell extends ProcessWindowFunction<Sum, String, String, TimeWindow> {
        @Override
        public void process(String meter, Context context, Iterable<Sum> sums, Collector<String> out) {
            Sum sum = sums.iterator().next();
            out.collect("{\"meter_id\":\"" + meter + "\",\"window_start\":" + context.window().getStart()
                    + ",\"avg\":" + sum.watts / sum.count + "}");
        }
    }

    public static void main(String[] given) throws Exception {
        Configuration settings = new Configuration();
        settings.setString("taskmanager.memory.network.max", "256m");
        settings.setString("taskmanager.memory.managed.size", "16m");
        settings.setString("pipeline.object-reuse", "true");
        StreamExecutionEnvironment flink =
                StreamExecutionEnvironment.createLocalEnvironment(1, settings);
        flink.enableCheckpointing(1000, CheckpointingMode.EXACTLY_ONCE);
        flink.getCheckpointConfig().setCheckpointStorage("file://" + given[6]);
        KafkaSource<Reading> source = KafkaSource.<Reading>builder()
                .setBootstrapServers(given[0])
                .setTopics(given[1])
                .setGroupId(given[3])
                .setStartingOffsets(OffsetsInitializer.earliest())
                .setDeserializer(new Parse())
                .setProperty("isolation.level", "read_committed")
                .setProperty("max.poll.records", "5000")
                .build();
        KafkaSink<String> sink = KafkaSink.<String>builder()
                .setBootstrapServers(given[0])
                .setRecordSerializer(KafkaRecordSerializationSchema.builder()
                        .setTopic(given[2])
                        .setValueSerializationSchema(new SimpleStringSchema())
                        .build())
                .setProperty("linger.ms", "100")
                .setProperty("batch.size", Integer.toString(256 * 1024))
                .setProperty("transaction.timeout.ms", "60000")
                .setDeliveryGuarantee(DeliveryGuarantee.EXACTLY_ONCE)
                .setTransactionalIdPrefix(given[3])
                .build();
        WatermarkStrategy<Reading> marks = WatermarkStrategy
                .<Reading>forBoundedOutOfOrderness(Duration.ofMillis(Long.parseLong(given[5])))
                .withTimestampAssigner((reading, time) -> reading.time)
                .withIdleness(Duration.ofSeconds(5));
        flink.fromSource(source, marks, "readings")
                .keyBy(reading -> reading.meter)
                .window(TumblingEventTimeWindows.of(Duration.ofMillis(Long.parseLong(given[4]))))
                .aggregate(new Mean(), new Tell())
                .sinkTo(sink);
        flink.execute("mean");
    }
}
