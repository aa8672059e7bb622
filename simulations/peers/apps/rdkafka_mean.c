/* The tumbling mean of each meter by librdkafka alone: at least once, and JSON scanned by hand.

   It trusts its input: fields in any order, but no escapes, no exponents, two windows at most.

   gcc -O3 -march=native rdkafka_mean.c -lrdkafka
   arguments: bootstrap, source, target, group, size and grace in milliseconds */

#include <librdkafka/rdkafka.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLACES = 1 << 21, LONGEST = 24, AT_ONCE = 10000, SLOTS = 2 };

typedef struct {
    char id[LONGEST];
    uint32_t length;
    int64_t window[SLOTS]; /* or -1 */
    double sum[SLOTS];
    int64_t count[SLOTS];
    int64_t next; /* the first window that was not told yet */
} Meter;

static Meter *meters;
static int64_t size, grace;
static rd_kafka_t *producer;
static rd_kafka_topic_t *output;

static Meter *meter_of(const char *id, uint32_t length) {
    uint64_t hash = 1469598103934665603ull;
    for (uint32_t i = 0; i < length; i++) hash = (hash ^ (uint8_t)id[i]) * 1099511628211ull;
    uint32_t at = (uint32_t)(hash ^ hash >> 29) & (PLACES - 1);
    while (meters[at].length && (meters[at].length != length || memcmp(meters[at].id, id, length)))
        at = (at + 1) & (PLACES - 1);
    Meter *found = &meters[at];
    if (!found->length) {
        memcpy(found->id, id, length);
        found->length = length;
        found->window[0] = found->window[1] = -1;
        found->next = INT64_MIN;
    }
    return found;
}

static void tell(Meter *meter, int slot, int partition) {
    char text[160];
    int length = snprintf(text, sizeof text, "{\"meter_id\":\"%.*s\",\"window_start\":%lld,\"avg\":%.6f}",
                          (int)meter->length, meter->id, (long long)(meter->window[slot] * size),
                          meter->sum[slot] / (double)meter->count[slot]);
    while (rd_kafka_produce(output, partition, RD_KAFKA_MSG_F_COPY, text, (size_t)length, meter->id,
                            meter->length, NULL) == -1)
        rd_kafka_poll(producer, 10);
    meter->window[slot] = -1;
}

static void add(Meter *meter, int64_t time, double watts, int partition) {
    int64_t window = time / size;
    if (window < meter->next) return; /* late */
    for (int slot = 0; slot < SLOTS; slot++) {
        int64_t open = meter->window[slot];
        if (open >= 0 && open < window && time >= (open + 1) * size + grace) {
            meter->next = open + 1;
            tell(meter, slot, partition);
        }
    }
    int slot = meter->window[0] == window ? 0 : meter->window[1] == window ? 1 : meter->window[0] >= 0;
    if (meter->window[slot] != window) {
        if (meter->window[slot] >= 0) tell(meter, slot, partition);
        meter->window[slot] = window;
        meter->sum[slot] = 0;
        meter->count[slot] = 0;
    }
    meter->sum[slot] += watts;
    meter->count[slot]++;
}

static void read_one(const char *at, size_t length, int partition) {
    const char *end = at + length, *id = NULL;
    uint32_t id_length = 0;
    int64_t time = 0;
    double watts = 0;
    while (at < end) {
        const char *key = memchr(at, '"', (size_t)(end - at));
        if (!key++) break;
        const char *after = memchr(key, '"', (size_t)(end - key));
        if (!after) return;
        at = after + 2;
        if (after - key == 8) { /* meter_id */
            id = at + 1;
            const char *close = memchr(id, '"', (size_t)(end - id));
            if (!close) return;
            id_length = (uint32_t)(close - id);
            at = close + 1;
        } else if (after - key == 2) { /* ts */
            for (time = 0; at < end && *at >= '0' && *at <= '9'; at++) time = time * 10 + (*at - '0');
        } else { /* value */
            double scale = 1;
            for (watts = 0; at < end && *at >= '0' && *at <= '9'; at++) watts = watts * 10 + (*at - '0');
            if (at < end && *at == '.')
                for (at++; at < end && *at >= '0' && *at <= '9'; at++, scale *= 10)
                    watts = watts * 10 + (*at - '0');
            watts /= scale;
        }
    }
    if (id && id_length <= LONGEST) add(meter_of(id, id_length), time, watts, partition);
}

static rd_kafka_t *client(rd_kafka_type_t kind, const char *const *settings) {
    char why[512];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    for (; settings[0]; settings += 2)
        if (rd_kafka_conf_set(conf, settings[0], settings[1], why, sizeof why)) {
            fprintf(stderr, "%s\n", why);
            exit(1);
        }
    return rd_kafka_new(kind, conf, why, sizeof why);
}

int main(int count, char **given) {
    if (count < 7) return 2;
    size = atoll(given[5]);
    grace = atoll(given[6]);
    meters = calloc(PLACES, sizeof(Meter));
    const char *writes[] = {"bootstrap.servers", given[1], "linger.ms", "100", "batch.size", "262144",
                            "queue.buffering.max.messages", "1000000", NULL};
    const char *reads[] = {"bootstrap.servers", given[1], "group.id", given[4],
                           "auto.offset.reset", "earliest", "check.crcs", "true",
                           "queued.max.messages.kbytes", "65536", "queued.min.messages", "200000",
                           "fetch.message.max.bytes", "1048576", NULL};
    producer = client(RD_KAFKA_PRODUCER, writes);
    output = rd_kafka_topic_new(producer, given[3], NULL);
    rd_kafka_t *consumer = client(RD_KAFKA_CONSUMER, reads);
    rd_kafka_poll_set_consumer(consumer);
    rd_kafka_topic_t *input = rd_kafka_topic_new(consumer, given[2], NULL);
    const struct rd_kafka_metadata *known;
    if (rd_kafka_metadata(consumer, 0, input, &known, 10000)) return 1;
    int partitions = known->topics[0].partition_cnt;
    rd_kafka_topic_partition_list_t *all = rd_kafka_topic_partition_list_new(partitions);
    for (int i = 0; i < partitions; i++)
        rd_kafka_topic_partition_list_add(all, given[2], i)->offset = RD_KAFKA_OFFSET_BEGINNING;
    rd_kafka_assign(consumer, all);
    rd_kafka_queue_t *queue = rd_kafka_queue_get_consumer(consumer);
    static rd_kafka_message_t *some[AT_ONCE];
    for (;;) {
        ssize_t found = rd_kafka_consume_batch_queue(queue, 100, some, AT_ONCE);
        for (ssize_t i = 0; i < found; i++) {
            if (!some[i]->err) read_one(some[i]->payload, some[i]->len, some[i]->partition);
            rd_kafka_message_destroy(some[i]);
        }
        rd_kafka_poll(producer, 0);
    }
}
