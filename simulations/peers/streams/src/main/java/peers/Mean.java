package peers;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Properties;
import org.apache.kafka.common.serialization.Deserializer;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.Serializer;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.EmitStrategy;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.TimeWindows;
import org.apache.kafka.streams.state.WindowStore;

/**
 * The tumbling mean of each meter, exactly once, as the manual of Kafka Streams writes it; or, with a
 * word more, without the changelog record that it writes for each reading, and on one thread.
 */
public final class Mean {
    private static final JsonFactory JSON = new JsonFactory();

    record Reading(long time, double watts) {}

    record Sum(double watts, long count) {}

    public static void main(String[] given) {
        String bootstrap = given[0], input = given[1], output = given[2], name = given[3];
        Duration size = Duration.ofMillis(Long.parseLong(given[4]));
        Duration grace = Duration.ofMillis(Long.parseLong(given[5]));

        boolean tuned = given.length > 7;
        Materialized<String, Sum, WindowStore<Bytes, byte[]>> store =
                Materialized.with(Serdes.String(), serde(Mean::write, Mean::read));
        if (tuned) {
            store = store.withLoggingDisabled();
        }

        StreamsBuilder builder = new StreamsBuilder();
        builder.stream(input, Consumed.with(Serdes.String(), serde(null, Mean::parse))
                        .withTimestampExtractor((record, before) -> ((Reading) record.value()).time()))
                .groupByKey(Grouped.with(Serdes.String(), serde(null, Mean::parse)))
                .windowedBy(TimeWindows.ofSizeAndGrace(size, grace))
                .emitStrategy(EmitStrategy.onWindowClose())
                .aggregate(
                        () -> new Sum(0, 0),
                        (meter, reading, sum) -> new Sum(sum.watts() + reading.watts(), sum.count() + 1),
                        store)
                .toStream((window, sum) -> window.key() + '@' + window.window().start())
                .mapValues((key, sum) -> release(key, sum))
                .to(output, Produced.with(Serdes.String(), Serdes.ByteArray()));

        Properties settings = new Properties();
        settings.put(StreamsConfig.APPLICATION_ID_CONFIG, name);
        settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrap);
        settings.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
        settings.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 1000);
        settings.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, tuned ? 1 : 2);
        settings.put(StreamsConfig.REPLICATION_FACTOR_CONFIG, 1);
        settings.put(StreamsConfig.DSL_STORE_SUPPLIERS_CLASS_CONFIG,
                "org.apache.kafka.streams.state.BuiltInDslStoreSuppliers$InMemoryDslStoreSuppliers");
        settings.put(StreamsConfig.STATE_DIR_CONFIG, given[6]);
        settings.put("auto.offset.reset", "earliest");
        if (tuned) {
            settings.put(StreamsConfig.consumerPrefix("max.poll.records"), 5000);
            settings.put(StreamsConfig.BUFFERED_RECORDS_PER_PARTITION_CONFIG, 20000);
        }
        settings.put(StreamsConfig.producerPrefix("linger.ms"), 100);
        settings.put(StreamsConfig.producerPrefix("batch.size"), 256 * 1024);
        KafkaStreams streams = new KafkaStreams(builder.build(), settings);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> streams.close(Duration.ofSeconds(5))));
        streams.start();
    }

    private static Reading parse(byte[] text) {
        try (JsonParser parser = JSON.createParser(text)) {
            long time = 0;
            double watts = 0;
            parser.nextToken();
            while (parser.nextToken() == JsonToken.FIELD_NAME) {
                String field = parser.currentName();
                parser.nextToken();
                switch (field) {
                    case "ts" -> time = parser.getLongValue();
                    case "value" -> watts = parser.getDoubleValue();
                    default -> { }
                }
            }
            return new Reading(time, watts);
        } catch (IOException error) {
            throw new IllegalArgumentException(error);
        }
    }

    private static byte[] release(String key, Sum sum) {
        int at = key.lastIndexOf('@');
        return ("{\"meter_id\":\"" + key.substring(0, at) + "\",\"window_start\":" + key.substring(at + 1)
                + ",\"avg\":" + sum.watts() / sum.count() + "}").getBytes(StandardCharsets.UTF_8);
    }

    private static byte[] write(Sum sum) {
        return ByteBuffer.allocate(16).putDouble(sum.watts()).putLong(sum.count()).array();
    }

    private static Sum read(byte[] bytes) {
        ByteBuffer buffer = ByteBuffer.wrap(bytes);
        return new Sum(buffer.getDouble(), buffer.getLong());
    }

    private static <T> Serde<T> serde(
            java.util.function.Function<T, byte[]> write, java.util.function.Function<byte[], T> read) {
        Serializer<T> writer = (topic, value) -> value == null ? null : write.apply(value);
        Deserializer<T> reader = (topic, bytes) -> bytes == null ? null : read.apply(bytes);
        return Serdes.serdeFrom(writer, reader);
    }
}
