package peers;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * The tumbling mean of each meter by Kafka's own client: one thread, JSON scanned by hand, a
 * transaction each half second. It trusts its input as rdkafka_mean.c does, and keeps no windows:
 * started again, it would lose those that were open.
 */
public final class Plain {
    private static final long NONE = -1;
    private static final long EVERY_NANOS = 500_000_000L;

    private static final class Meter {
        final long[] window = {NONE, NONE};
        final double[] sum = new double[2];
        final long[] count = new long[2];
        long next = Long.MIN_VALUE;
    }

    /** Bytes of a record, as the key of a table. */
    private static final class Id {
        byte[] bytes;
        int from;
        int length;
        int hash;

        Id set(byte[] bytes, int from, int length) {
            this.bytes = bytes;
            this.from = from;
            this.length = length;
            hash = 1;
            for (int i = from; i < from + length; i++) {
                hash = 31 * hash + bytes[i];
            }
            return this;
        }

        Id copy() {
            return new Id().set(Arrays.copyOfRange(bytes, from, from + length), 0, length);
        }

        @Override
        public int hashCode() {
            return hash;
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Id id
                    && Arrays.equals(bytes, from, from + length, id.bytes, id.from, id.from + id.length);
        }
    }

    private static long size;
    private static long grace;
    private static String target;
    private static KafkaProducer<byte[], byte[]> producer;
    private static final HashMap<Id, Meter> METERS = new HashMap<>(1 << 16);
    private static final Id PROBE = new Id();

    public static void main(String[] given) {
        target = given[2];
        size = Long.parseLong(given[4]);
        grace = Long.parseLong(given[5]);
        producer = new KafkaProducer<>(Map.of(
                "bootstrap.servers", given[0],
                "transactional.id", given[3],
                "linger.ms", 100,
                "batch.size", 256 * 1024,
                "key.serializer", ByteArraySerializer.class,
                "value.serializer", ByteArraySerializer.class));
        KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(Map.of(
                "bootstrap.servers", given[0],
                "group.id", given[3],
                "auto.offset.reset", "earliest",
                "isolation.level", "read_committed",
                "max.poll.records", 10000,
                "enable.auto.commit", false,
                "key.deserializer", ByteArrayDeserializer.class,
                "value.deserializer", ByteArrayDeserializer.class));
        List<TopicPartition> all = new ArrayList<>();
        for (PartitionInfo one : consumer.partitionsFor(given[1])) {
            all.add(new TopicPartition(given[1], one.partition()));
        }
        consumer.assign(all);
        producer.initTransactions();
        producer.beginTransaction();
        long last = System.nanoTime();
        while (true) {
            for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(100))) {
                read(record.value(), record.partition());
            }
            if (System.nanoTime() - last > EVERY_NANOS) {
                last = System.nanoTime();
                Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
                for (TopicPartition one : all) {
                    offsets.put(one, new OffsetAndMetadata(consumer.position(one)));
                }
                producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());
                producer.commitTransaction();
                producer.beginTransaction();
            }
        }
    }

    /** Fields in any order, each known by the length of its name. */
    private static void read(byte[] text, int partition) {
        int at = 0;
        int id = 0;
        int length = 0;
        long time = 0;
        double value = 0;
        while (true) {
            while (at < text.length && text[at] != '"') {
                at++;
            }
            if (at >= text.length) {
                break;
            }
            int name = ++at;
            while (text[at] != '"') {
                at++;
            }
            int named = at - name;
            at += 2;
            if (named == 8) {
                id = ++at;
                while (text[at] != '"') {
                    at++;
                }
                length = at++ - id;
            } else if (named == 2) {
                while (text[at] >= '0' && text[at] <= '9') {
                    time = time * 10 + (text[at++] - '0');
                }
            } else {
                long digits = 0;
                double scale = 1;
                while (text[at] >= '0' && text[at] <= '9') {
                    digits = digits * 10 + (text[at++] - '0');
                }
                if (text[at] == '.') {
                    at++;
                    while (text[at] >= '0' && text[at] <= '9') {
                        digits = digits * 10 + (text[at++] - '0');
                        scale *= 10;
                    }
                }
                value = digits / scale;
            }
        }
        add(PROBE.set(text, id, length), time, value, partition);
    }

    private static void add(Id id, long time, double value, int partition) {
        Meter meter = METERS.get(id);
        if (meter == null) {
            meter = new Meter();
            METERS.put(id.copy(), meter);
        }
        long window = time / size;
        if (window < meter.next) {
            return;
        }
        for (int i = 0; i < 2; i++) {
            boolean over = time >= (meter.window[i] + 1) * size + grace;
            if (meter.window[i] != NONE && meter.window[i] < window && over) {
                tell(id, meter, i, partition);
            }
        }
        int slot = meter.window[0] == window ? 0
                : meter.window[1] == window ? 1
                : meter.window[0] == NONE ? 0 : 1;
        if (meter.window[slot] != window) {
            if (meter.window[slot] != NONE) {
                tell(id, meter, slot, partition);
            }
            meter.window[slot] = window;
            meter.sum[slot] = 0;
            meter.count[slot] = 0;
        }
        meter.sum[slot] += value;
        meter.count[slot]++;
    }

    private static void tell(Id id, Meter meter, int slot, int partition) {
        String name = new String(id.bytes, id.from, id.length, StandardCharsets.UTF_8);
        String release = "{\"meter_id\":\"" + name + "\",\"window_start\":" + meter.window[slot] * size
                + ",\"avg\":" + meter.sum[slot] / meter.count[slot] + "}";
        producer.send(new ProducerRecord<>(target, partition, null, release.getBytes(StandardCharsets.UTF_8)));
        meter.next = meter.window[slot] + 1;
        meter.window[slot] = NONE;
    }
}
