import com.google.protobuf.DescriptorProtos.DescriptorProto;
import com.google.protobuf.DescriptorProtos.FieldDescriptorProto;
import com.google.protobuf.DescriptorProtos.FileDescriptorProto;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.protobuf.DynamicMessage;
import io.apicurio.registry.serde.avro.AvroKafkaSerializer;
import io.apicurio.registry.serde.protobuf.ProtobufKafkaSerializer;
import java.util.HexFormat;
import java.util.Map;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericRecord;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.serialization.Serializer;

/** Readings, as Apicurio's own serializers write them: a message and its headers on a line. */
public class Written {
    static final String[] FIELDS = {"meter_id", "ts", "value"};

    public static void main(String[] arguments) throws Exception {
        Map<String, Map<String, Object>> framings = Map.of(
            "apicurio-4", Map.of(
                "apicurio.registry.headers.enabled", "false",
                "apicurio.registry.as-confluent", "true",
                "apicurio.registry.use-id", "contentId"),
            "apicurio-8", Map.of("apicurio.registry.headers.enabled", "false"),
            "apicurio-headers", Map.of("apicurio.registry.headers.enabled", "true"));
        for (var framing : framings.entrySet()) {
            write("avro", framing, arguments[0], new AvroKafkaSerializer<GenericRecord>(), avro());
            write("protobuf", framing, arguments[0],
                new ProtobufKafkaSerializer<DynamicMessage>(), protobuf());
        }
    }

    static <T> void write(String format, Map.Entry<String, Map<String, Object>> framing,
            String url, Serializer<T> serializer, T reading) {
        var settings = new java.util.HashMap<String, Object>(framing.getValue());
        settings.put("apicurio.registry.url", url);
        settings.put("apicurio.registry.auto-register", "true");
        serializer.configure(settings, false);
        var headers = new RecordHeaders();
        boolean byHeaders = framing.getKey().equals("apicurio-headers");
        byte[] message = byHeaders
            ? serializer.serialize("readings-" + format, headers, reading)
            : serializer.serialize("readings-" + format, reading);
        var line = new StringBuilder(format + " " + framing.getKey() + " ");
        line.append(HexFormat.of().formatHex(message));
        for (var header : headers) {
            line.append(" " + header.key() + "=" + HexFormat.of().formatHex(header.value()));
        }
        System.out.println(line);
    }

    static GenericRecord avro() {
        Schema schema = new Schema.Parser().parse("{\"type\":\"record\",\"name\":\"Reading\",\"fields\":["
            + "{\"name\":\"meter_id\",\"type\":\"string\"},{\"name\":\"ts\",\"type\":\"long\"},"
            + "{\"name\":\"value\",\"type\":\"double\"}]}");
        var reading = new GenericData.Record(schema);
        reading.put("meter_id", "m-17");
        reading.put("ts", 1763467200000L);
        reading.put("value", 412.5);
        return reading;
    }

    static DynamicMessage protobuf() throws Exception {
        var types = new FieldDescriptorProto.Type[] {FieldDescriptorProto.Type.TYPE_STRING,
            FieldDescriptorProto.Type.TYPE_INT64, FieldDescriptorProto.Type.TYPE_DOUBLE};
        var message = DescriptorProto.newBuilder().setName("Reading");
        for (int at = 0; at < FIELDS.length; at++) {
            message.addField(FieldDescriptorProto.newBuilder().setName(FIELDS[at]).setNumber(at + 1)
                .setLabel(FieldDescriptorProto.Label.LABEL_OPTIONAL).setType(types[at]));
        }
        var file = FileDescriptorProto.newBuilder().setName("reading.proto").setSyntax("proto3")
            .addMessageType(DescriptorProto.newBuilder().setName("Other")).addMessageType(message);
        Descriptor reading = FileDescriptor.buildFrom(file.build(), new FileDescriptor[0])
            .findMessageTypeByName("Reading");
        return DynamicMessage.newBuilder(reading)
            .setField(reading.findFieldByNumber(1), "m-17")
            .setField(reading.findFieldByNumber(2), 1763467200000L)
            .setField(reading.findFieldByNumber(3), 412.5).build();
    }
}
