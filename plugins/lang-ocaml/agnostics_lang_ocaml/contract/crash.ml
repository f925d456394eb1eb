let () = failwith "on purpose"
