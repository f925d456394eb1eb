push-1   	
put-number	
 	add	   end


